// SPDX-License-Identifier: Apache-2.0
#include "lockkeeper/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "absl/strings/cord.h"
#include "status_payloads.h"

namespace lockkeeper {
namespace {

constexpr char kReasonPayload[] = "lockkeeper/reason";
constexpr char kFieldPayload[] = "lockkeeper/field";
constexpr char kDelayPayload[] = "lockkeeper/retry_delay_ms";

constexpr auto kNames = std::to_array<std::pair<ErrorReason, std::string_view>>({
    {ErrorReason::kInvalidField, "INVALID_FIELD"},
    {ErrorReason::kLeaseLost, "LEASE_LOST"},
    {ErrorReason::kLeaseEnded, "LEASE_ENDED"},
    {ErrorReason::kStoreUnavailable, "STORE_UNAVAILABLE"},
    {ErrorReason::kOutcomeUnknown, "OUTCOME_UNKNOWN"},
    {ErrorReason::kQuorumNotReached, "QUORUM_NOT_REACHED"},
    {ErrorReason::kAssuranceNotReached, "ASSURANCE_NOT_REACHED"},
    {ErrorReason::kStoreQuarantined, "STORE_QUARANTINED"},
    {ErrorReason::kServerDraining, "SERVER_DRAINING"},
    {ErrorReason::kWaiterLimit, "WAITER_LIMIT"},
    {ErrorReason::kLeaseLimit, "LEASE_LIMIT"},
    {ErrorReason::kRateLimit, "RATE_LIMIT"},
    {ErrorReason::kStoreCorrupt, "STORE_CORRUPT"},
    {ErrorReason::kFormatTooNew, "FORMAT_TOO_NEW"},
    {ErrorReason::kInvariantViolated, "INVARIANT_VIOLATED"},
    {ErrorReason::kUnauthenticated, "UNAUTHENTICATED"},
    {ErrorReason::kPermissionDenied, "PERMISSION_DENIED"},
    {ErrorReason::kAuditUnavailable, "AUDIT_UNAVAILABLE"},
    {ErrorReason::kNotAcquired, "NOT_ACQUIRED"},
});

std::optional<std::string> PayloadOf(const absl::Status& status, const char* name) {
  const auto payload = status.GetPayload(name);
  if (!payload) return std::nullopt;
  return std::string(*payload);
}

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string_view NameOf(ErrorReason reason) {
  const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const auto& each) { return each.first == reason; });
  return found == kNames.end() ? "" : found->second;
}

std::optional<ErrorReason> ReasonOf(const absl::Status& status) {
  const std::string name = ReasonNameOf(status);
  const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const auto& each) { return each.second == name; });
  if (found == kNames.end()) return std::nullopt;
  return found->first;
}

std::string ReasonNameOf(const absl::Status& status) {
  return PayloadOf(status, kReasonPayload).value_or("");
}

std::optional<std::string> FieldOf(const absl::Status& status) {
  return PayloadOf(status, kFieldPayload);
}

std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status) {
  const std::optional<std::string> text = PayloadOf(status, kDelayPayload);
  if (!text) return std::nullopt;
  int64_t millis = 0;
  std::from_chars(text->data(), text->data() + text->size(), millis);
  return std::chrono::milliseconds(millis);
}

namespace client {

void SetReasonName(absl::Status& status, std::string_view name) {
  if (!name.empty()) status.SetPayload(kReasonPayload, absl::Cord(ToAbsl(name)));
}

void SetField(absl::Status& status, std::string_view field) {
  if (!field.empty()) status.SetPayload(kFieldPayload, absl::Cord(ToAbsl(field)));
}

void SetRetryDelay(absl::Status& status, std::chrono::milliseconds delay) {
  if (delay.count() > 0) {
    status.SetPayload(kDelayPayload, absl::Cord(std::to_string(delay.count())));
  }
}

absl::Status ErrorWithReason(absl::StatusCode code, ErrorReason reason, std::string_view message) {
  absl::Status status(code, ToAbsl(message));
  SetReasonName(status, NameOf(reason));
  return status;
}

absl::Status InvalidOption(std::string_view option, std::string_view problem) {
  absl::Status status =
      ErrorWithReason(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidField,
                      std::string(option) + ": " + std::string(problem));
  SetField(status, option);
  return status;
}

absl::Status WithMessage(const absl::Status& status, std::string_view message) {
  absl::Status result(status.code(), ToAbsl(message));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

}  // namespace client
}  // namespace lockkeeper
