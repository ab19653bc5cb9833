// SPDX-License-Identifier: Apache-2.0
#include "telemetry/outcome.h"

namespace lockkeeper::telemetry {

std::string_view NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kGranted:
      return "granted";
    case Outcome::kContention:
      return "contention";
    case Outcome::kExtended:
      return "extended";
    case Outcome::kLeaseLost:
      return "lease_lost";
    case Outcome::kReleased:
      return "released";
    case Outcome::kNotReleased:
      return "not_released";
    case Outcome::kAdmitted:
      return "admitted";
    case Outcome::kStale:
      return "stale";
    case Outcome::kExpired:
      return "expired";
    case Outcome::kUnknownToken:
      return "unknown_token";
    case Outcome::kFound:
      return "found";
    case Outcome::kNotFound:
      return "not_found";
    case Outcome::kListed:
      return "listed";
    case Outcome::kForceReleased:
      return "force_released";
    case Outcome::kQuarantineEnded:
      return "quarantine_ended";
    case Outcome::kNoQuarantine:
      return "no_quarantine";
    case Outcome::kDone:
      return "done";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kError:
      return "error";
  }
  return "unknown";
}

std::string_view NameOf(core::WaitEnd end) {
  switch (end) {
    case core::WaitEnd::kGranted:
      return "granted";
    case core::WaitEnd::kOffered:
      return "offered";
    case core::WaitEnd::kTimedOut:
      return "timed_out";
    case core::WaitEnd::kCancelled:
      return "cancelled";
    case core::WaitEnd::kCallerLeft:
      return "caller_left";
    case core::WaitEnd::kDrained:
      return "drained";
    case core::WaitEnd::kFailed:
      return "failed";
  }
  return "unknown";
}

absl::StatusCode CodeOf(Outcome outcome, const absl::Status& status) {
  return outcome == Outcome::kCancelled ? absl::StatusCode::kCancelled : status.code();
}

}  // namespace lockkeeper::telemetry
