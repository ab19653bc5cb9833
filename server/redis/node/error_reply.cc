// SPDX-License-Identifier: Apache-2.0
#include "redis/node/error_reply.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/errors.h"

namespace lockkeeper::redis {
namespace {

// Raised before a command is executed. NOSCRIPT is here for the case that loading failed too.
constexpr std::array<std::string_view, 17> kNotExecuted = {
    "ASK",     "BUSY",     "CLUSTERDOWN", "CROSSSLOT", "LOADING",    "MASTERDOWN",
    "MISCONF", "MOVED",    "NOAUTH",      "NOPERM",    "NOREPLICAS", "NOSCRIPT",
    "OOM",     "READONLY", "TRYAGAIN",    "WRONGPASS", "DENIED"};

}  // namespace

std::string_view ErrorWord(std::string_view error) { return error.substr(0, error.find(' ')); }

bool IsOfMovedKeys(std::string_view error) {
  const std::string_view word = ErrorWord(error);
  return word == "MOVED" || word == "ASK" || word == "TRYAGAIN";
}

absl::Status StatusOfErrorReply(std::string_view error) {
  const std::string_view word = ErrorWord(error);
  const bool not_executed =
      std::find(kNotExecuted.begin(), kNotExecuted.end(), word) != kNotExecuted.end();
  return core::Error(
      not_executed ? core::ErrorReason::kStoreUnavailable : core::ErrorReason::kOutcomeUnknown,
      "the store answered: " + std::string(error));
}

}  // namespace lockkeeper::redis
