// SPDX-License-Identifier: Apache-2.0
//
// The outcome of a request, in one word: the label `outcome` of the metrics and the field `outcome`
// of the log. The command line prints the same words.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "core/lock_observer.h"

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
  kQuarantineEnded,
  kNoQuarantine,
  kDone,       // The only good outcome of an rpc that has no others.
  kCancelled,  // The caller left before its answer.
  kError,      // Any other status than OK.
};
inline constexpr size_t kOutcomes = static_cast<size_t>(Outcome::kError) + 1;

std::string_view NameOf(Outcome outcome);

// How a wait in line ended, as the label `end` of the metrics has it.
std::string_view NameOf(core::WaitEnd end);

// The code that the caller sees: CANCELLED for a cancelled call, whatever its answer was.
absl::StatusCode CodeOf(Outcome outcome, const absl::Status& status);

}  // namespace lockkeeper::telemetry
