// SPDX-License-Identifier: Apache-2.0
//
// What became of an operation, in the words of telemetry.
#pragma once

#include <variant>

#include "absl/status/status.h"
#include "core/errors.h"
#include "core/requests.h"
#include "telemetry/outcome.h"

namespace lockkeeper::rpc {

inline telemetry::Outcome OutcomeOf(const core::AcquireAnswer& answer) {
  return std::holds_alternative<core::Lease>(answer) ? telemetry::Outcome::kGranted
                                                     : telemetry::Outcome::kContention;
}

inline telemetry::Outcome OutcomeOf(const core::Lease&) { return telemetry::Outcome::kExtended; }

inline telemetry::Outcome OutcomeOf(const core::ReleaseAnswer& answer) {
  return answer.released() ? telemetry::Outcome::kReleased : telemetry::Outcome::kNotReleased;
}

inline telemetry::Outcome OutcomeOf(const core::FenceAnswer& answer) {
  switch (answer.verdict) {
    case core::Verdict::kAdmitted:
      return telemetry::Outcome::kAdmitted;
    case core::Verdict::kStale:
      return telemetry::Outcome::kStale;
    case core::Verdict::kExpired:
      return telemetry::Outcome::kExpired;
    case core::Verdict::kUnknownToken:
      return telemetry::Outcome::kUnknownToken;
  }
  return telemetry::Outcome::kError;
}

// Of an error.
inline telemetry::Outcome OutcomeOf(const absl::Status& status) {
  return core::ReasonOf(status) == core::ErrorReason::kLeaseLost ? telemetry::Outcome::kLeaseLost
                                                                 : telemetry::Outcome::kError;
}

}  // namespace lockkeeper::rpc
