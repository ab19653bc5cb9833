// SPDX-License-Identifier: Apache-2.0
#include "telemetry/call_log.h"

#include <chrono>
#include <string>

#include "absl/container/inlined_vector.h"
#include "core/errors.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::telemetry {
namespace {

using Fields = absl::InlinedVector<LogField, 13>;

enum class Severity { kRoutine, kRefused, kUnavailable, kFailed };

// By code and not by reason, because statuses that gRPC made have no reason.
Severity SeverityOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnknown:
      return Severity::kFailed;
    case absl::StatusCode::kUnavailable:
      return core::ReasonOf(status) == core::ErrorReason::kServerDraining ? Severity::kRoutine
                                                                          : Severity::kUnavailable;
    case absl::StatusCode::kResourceExhausted:
      return Severity::kRefused;
    default:
      return Severity::kRoutine;
  }
}

void AddText(Fields& fields, LogField (*make)(std::string_view), std::string_view text) {
  if (!text.empty()) fields.push_back(make(text));
}

}  // namespace

void CallLog::Write(const CallRecord& record) {
  const Severity severity = SeverityOf(record.status);
  if (severity == Severity::kRoutine && !logger_.Enabled(LogLevel::kDebug)) return;

  const std::string code = absl::StatusCodeToString(CodeOf(record.outcome, record.status));
  const std::string problem(record.status.message());
  Fields fields;
  AddText(fields, field::RequestId, record.request_id);
  fields.push_back(field::Rpc(record.rpc));
  AddText(fields, field::Peer, record.peer);
  AddText(fields, field::Principal, record.principal);
  AddText(fields, field::OwnerId, record.owner_id);
  AddText(fields, field::LockName, record.lock_name);
  if (record.lease_id) fields.push_back(field::LeaseIdPrefix(*record.lease_id));
  if (record.token.value != 0) fields.push_back(field::FencingToken(record.token));
  if (record.waited > core::Micros(0)) {
    fields.push_back(field::Wait(std::chrono::duration_cast<core::Millis>(record.waited)));
  }
  fields.push_back(field::Outcome(NameOf(record.outcome)));
  fields.push_back(field::Code(code));
  if (const auto reason = core::ReasonOf(record.status)) {
    fields.push_back(field::Reason(core::RowOf(*reason).name));
  }
  AddText(fields, field::Problem, problem);
  fields.push_back(field::Elapsed(record.elapsed));

  switch (severity) {
    case Severity::kRoutine:
      logger_.Debug("rpc.answered", "A request was answered", fields);
      break;
    case Severity::kRefused:
      logger_.WriteLimited(refused_limit_, LogLevel::kWarn, "rpc.refused",
                           "A request was rejected because a limit was reached", fields);
      break;
    case Severity::kUnavailable:
      logger_.WriteLimited(unavailable_limit_, LogLevel::kWarn, "rpc.unavailable",
                           "A request could not be served; a retry may succeed", fields);
      break;
    case Severity::kFailed:
      logger_.WriteLimited(failed_limit_, LogLevel::kError, "rpc.failed",
                           "A request failed with an internal error", fields);
      break;
  }
}

}  // namespace lockkeeper::telemetry
