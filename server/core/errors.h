// SPDX-License-Identifier: Apache-2.0
//
// The one error table. Every non-OK status of the service is made here and carries a reason;
// rpc/status_convert turns it into a gRPC status. docs/reference/errors.md shows the same rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/types.h"

namespace lockkeeper::core {

// Numbers are those of lockkeeper.v1.ErrorReason; a test compares names and numbers.
enum class ErrorReason {
  kInvalidField = 1,
  kLeaseLost = 2,
  kLeaseEnded = 3,
  kStoreUnavailable = 4,
  kOutcomeUnknown = 5,
  kQuorumNotReached = 6,
  kAssuranceNotReached = 7,
  kStoreQuarantined = 8,
  kServerDraining = 9,
  kWaiterLimit = 10,
  kLeaseLimit = 11,
  kRateLimit = 12,
  kStoreCorrupt = 13,
  kFormatTooNew = 14,
  kInvariantViolated = 15,
  kUnauthenticated = 16,
  kPermissionDenied = 17,
  kAuditUnavailable = 18,
};
inline constexpr int kErrorReasons = static_cast<int>(ErrorReason::kAuditUnavailable);

// What a caller should send again after an error.
enum class Resend { kNever, kSameLeaseId, kNewLeaseId, kElsewhere, kLater };

// One row of the table. `code` and `resend` are what the API promises for the reason.
struct ErrorRow {
  ErrorReason reason;
  std::string_view name;  // As in ErrorInfo.reason: "LEASE_LOST".
  absl::StatusCode code;
  Resend resend;
};

const ErrorRow& RowOf(ErrorReason reason);

// A field is missing, malformed or beyond its limit. `field` is the proto field's name, for
// example "labels[2].key"; `problem` names the limit.
absl::Status InvalidField(std::string_view field, std::string_view problem);

// Any other reason. `message` is for people.
absl::Status Error(ErrorReason reason, std::string_view message);

// The same, with the delay after which a retry makes sense.
absl::Status ErrorWithDelay(ErrorReason reason, std::string_view message, Millis retry_delay);

// SERVER_DRAINING: this daemon is stopping.
absl::Status Draining();

// ASSURANCE_NOT_REACHED, after the store has confirmed too little of a grant and it was taken back;
// OUTCOME_UNKNOWN if that is not certain.
absl::Status Unconfirmed();
absl::Status UnconfirmedAndNotTakenBack();

// Reason of a status made here. Nothing for OK and for foreign statuses.
std::optional<ErrorReason> ReasonOf(const absl::Status& status);

// Field of an INVALID_FIELD, delay of one with a delay.
std::optional<std::string> FieldOf(const absl::Status& status);
std::optional<Millis> RetryDelayOf(const absl::Status& status);

// True if the operation may have taken effect although the answer is an error: the store did not
// answer, or nobody can read what it answered.
bool MayHaveHappened(const absl::Status& status);

}  // namespace lockkeeper::core
