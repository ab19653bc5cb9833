// SPDX-License-Identifier: Apache-2.0
//
// What became of a request, in one word: the label `outcome` of the metrics and the field `outcome`
// of the log. The command line prints the same words.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace lockkeeper::telemetry {

enum class Outcome {
  kGranted,
  kContention,
  kExtended,
  kLeaseLost,
  kReleased,
  kNotReleased,
  kAdmitted,
  kStale,
  kExpired,
  kUnknownToken,
  kFound,
  kNotFound,
  kListed,
  kForceReleased,
  kDone,       // Of an rpc that has but one good outcome.
  kCancelled,  // The caller left before its answer.
  kError,      // Any other status than OK.
};
inline constexpr size_t kOutcomes = static_cast<size_t>(Outcome::kError) + 1;

std::string_view NameOf(Outcome outcome);

// The code that the caller has: of a cancelled call not that of the answer nobody heard.
absl::StatusCode CodeOf(Outcome outcome, const absl::Status& status);

}  // namespace lockkeeper::telemetry
