// SPDX-License-Identifier: Apache-2.0
#include "rpc/status_convert.h"

#include <optional>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "rpc/convert_duration.h"

namespace lockkeeper::rpc {
namespace {

using core::ErrorReason;
using core::Millis;

void AddErrorInfo(const core::ErrorRow& row, const std::optional<std::string>& field,
                  google::rpc::Status& details) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(row.name));
  info.set_domain(kErrorDomain);
  if (field) (*info.mutable_metadata())["field"] = *field;
  details.add_details()->PackFrom(info);
}

void AddBadRequest(const std::string& field, const std::string& problem,
                   google::rpc::Status& details) {
  google::rpc::BadRequest bad_request;
  google::rpc::BadRequest::FieldViolation& violation = *bad_request.add_field_violations();
  violation.set_field(field);
  violation.set_description(problem);
  details.add_details()->PackFrom(bad_request);
}

void AddRetryInfo(Millis delay, google::rpc::Status& details) {
  google::rpc::RetryInfo retry;
  ToProto(delay, *retry.mutable_retry_delay());
  details.add_details()->PackFrom(retry);
}

}  // namespace

std::optional<Millis> DefaultRetryDelay(ErrorReason reason) {
  switch (reason) {
    case ErrorReason::kStoreUnavailable:
    case ErrorReason::kQuorumNotReached:
    case ErrorReason::kRateLimit:
    case ErrorReason::kAuditUnavailable:
      return Millis(100);  // A reconnect takes about that long, and a burst is over by then.
    case ErrorReason::kOutcomeUnknown:
    case ErrorReason::kServerDraining:
      return Millis(10);  // The answer waits elsewhere: in the record, or at another daemon.
    case ErrorReason::kAssuranceNotReached:
    case ErrorReason::kStoreQuarantined:
    case ErrorReason::kWaiterLimit:
    case ErrorReason::kLeaseLimit:
      return Millis(1'000);  // Replicas, quarantines and other people's leases take seconds.
    case ErrorReason::kInvalidField:
    case ErrorReason::kLeaseLost:
    case ErrorReason::kLeaseEnded:
    case ErrorReason::kStoreCorrupt:
    case ErrorReason::kFormatTooNew:
    case ErrorReason::kInvariantViolated:
    case ErrorReason::kUnauthenticated:
    case ErrorReason::kPermissionDenied:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Millis> RetryDelayFor(const absl::Status& status) {
  if (const auto named = core::RetryDelayOf(status)) return named;
  const std::optional<ErrorReason> reason = core::ReasonOf(status);
  return reason ? DefaultRetryDelay(*reason) : std::nullopt;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::optional<ErrorReason> known = core::ReasonOf(status);
  const ErrorReason reason = known.value_or(ErrorReason::kInvariantViolated);
  const core::ErrorRow& row = core::RowOf(reason);
  const std::string message(status.message());

  google::rpc::Status details;
  details.set_code(static_cast<int>(row.code));
  details.set_message(message);
  const std::optional<std::string> field = core::FieldOf(status);
  AddErrorInfo(row, field, details);
  if (field) AddBadRequest(*field, message, details);
  if (const auto delay = RetryDelayFor(status)) AddRetryInfo(*delay, details);
  return {static_cast<grpc::StatusCode>(row.code), message, details.SerializeAsString()};
}

}  // namespace lockkeeper::rpc
