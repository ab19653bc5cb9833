// SPDX-License-Identifier: Apache-2.0
//
// The errors with which a session refuses messages and operations.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::rpc {

inline absl::Status TooManyUnread() {
  return core::Error(core::ErrorReason::kRateLimit,
                     "the client goes on sending and does not read its results");
}

inline absl::Status OverLimit() {
  return core::Error(core::ErrorReason::kRateLimit,
                     "more than " + std::to_string(core::limits::kSessionOperationsMax) +
                         " operations of this session, or " +
                         std::to_string(core::limits::kOperationsOfSessionsMax) +
                         " of all, have no result yet, or one that is unread");
}

}  // namespace lockkeeper::rpc
