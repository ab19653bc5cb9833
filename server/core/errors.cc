// SPDX-License-Identifier: Apache-2.0
#include "core/errors.h"

#include <array>
#include <charconv>
#include <string>

#include "absl/strings/cord.h"

namespace lockkeeper::core {
namespace {

using enum ErrorReason;
using enum Resend;
using absl::StatusCode;

constexpr std::array kTable = {
    ErrorRow{kInvalidField, "INVALID_FIELD", StatusCode::kInvalidArgument, kNever},
    ErrorRow{kLeaseLost, "LEASE_LOST", StatusCode::kFailedPrecondition, kNewLeaseId},
    ErrorRow{kLeaseEnded, "LEASE_ENDED", StatusCode::kFailedPrecondition, kNewLeaseId},
    ErrorRow{kStoreUnavailable, "STORE_UNAVAILABLE", StatusCode::kUnavailable, kSameLeaseId},
    ErrorRow{kOutcomeUnknown, "OUTCOME_UNKNOWN", StatusCode::kUnavailable, kSameLeaseId},
    ErrorRow{kQuorumNotReached, "QUORUM_NOT_REACHED", StatusCode::kUnavailable, kSameLeaseId},
    ErrorRow{kAssuranceNotReached, "ASSURANCE_NOT_REACHED", StatusCode::kUnavailable, kSameLeaseId},
    ErrorRow{kStoreQuarantined, "STORE_QUARANTINED", StatusCode::kUnavailable, kSameLeaseId},
    ErrorRow{kServerDraining, "SERVER_DRAINING", StatusCode::kUnavailable, kElsewhere},
    ErrorRow{kWaiterLimit, "WAITER_LIMIT", StatusCode::kResourceExhausted, kLater},
    ErrorRow{kLeaseLimit, "LEASE_LIMIT", StatusCode::kResourceExhausted, kLater},
    ErrorRow{kRateLimit, "RATE_LIMIT", StatusCode::kResourceExhausted, kLater},
    ErrorRow{kStoreCorrupt, "STORE_CORRUPT", StatusCode::kDataLoss, kNever},
    ErrorRow{kFormatTooNew, "FORMAT_TOO_NEW", StatusCode::kDataLoss, kNever},
    ErrorRow{kInvariantViolated, "INVARIANT_VIOLATED", StatusCode::kInternal, kNever},
    ErrorRow{kUnauthenticated, "UNAUTHENTICATED", StatusCode::kUnauthenticated, kNever},
    ErrorRow{kPermissionDenied, "PERMISSION_DENIED", StatusCode::kPermissionDenied, kNever},
    ErrorRow{kAuditUnavailable, "AUDIT_UNAVAILABLE", StatusCode::kUnavailable, kElsewhere},
};

// A row stands at the place that its number says.
constexpr bool InOrder() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].reason) != i + 1) return false;
  }
  return true;
}
static_assert(InOrder());

constexpr char kReasonPayload[] = "lockkeeper/reason";
constexpr char kFieldPayload[] = "lockkeeper/field";
constexpr char kDelayPayload[] = "lockkeeper/retry_delay_ms";

std::optional<std::string> PayloadOf(const absl::Status& status, const char* name) {
  const auto payload = status.GetPayload(name);
  if (!payload) return std::nullopt;
  return std::string(*payload);
}

std::optional<int64_t> NumberOf(const absl::Status& status, const char* name) {
  const std::optional<std::string> text = PayloadOf(status, name);
  if (!text) return std::nullopt;
  int64_t number = 0;
  std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

}  // namespace

const ErrorRow& RowOf(ErrorReason reason) { return kTable.at(static_cast<size_t>(reason) - 1); }

absl::Status InvalidField(std::string_view field, std::string_view problem) {
  absl::Status status = Error(kInvalidField, std::string(field) + ": " + std::string(problem));
  status.SetPayload(kFieldPayload, absl::Cord(std::string(field)));
  return status;
}

absl::Status Error(ErrorReason reason, std::string_view message) {
  absl::Status status(RowOf(reason).code, absl::string_view(message.data(), message.size()));
  status.SetPayload(kReasonPayload, absl::Cord(std::to_string(static_cast<int>(reason))));
  return status;
}

absl::Status ErrorWithDelay(ErrorReason reason, std::string_view message, Millis retry_delay) {
  absl::Status status = Error(reason, message);
  status.SetPayload(kDelayPayload, absl::Cord(std::to_string(retry_delay.count())));
  return status;
}

absl::Status Draining() { return Error(kServerDraining, "this daemon is stopping"); }

absl::Status Unconfirmed() {
  return Error(kAssuranceNotReached,
               "the store confirmed less of the grant than store.assurance or min_assurance asks; "
               "it was taken back");
}

absl::Status UnconfirmedAndNotTakenBack() {
  return Error(kOutcomeUnknown,
               "the store confirmed less of the grant than store.assurance or min_assurance asks, "
               "and it could not be taken back");
}

std::optional<ErrorReason> ReasonOf(const absl::Status& status) {
  const std::optional<int64_t> number = NumberOf(status, kReasonPayload);
  if (!number) return std::nullopt;
  return static_cast<ErrorReason>(*number);
}

std::optional<std::string> FieldOf(const absl::Status& status) {
  return PayloadOf(status, kFieldPayload);
}

std::optional<Millis> RetryDelayOf(const absl::Status& status) {
  const std::optional<int64_t> number = NumberOf(status, kDelayPayload);
  if (!number) return std::nullopt;
  return Millis(*number);
}

bool MayHaveHappened(const absl::Status& status) {
  const std::optional<ErrorReason> reason = ReasonOf(status);
  return !status.ok() && (!reason || *reason == kOutcomeUnknown || *reason == kInvariantViolated);
}

}  // namespace lockkeeper::core
