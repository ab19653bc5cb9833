// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_log.h"

#include <chrono>
#include <string>
#include <vector>

#include "rpc/session_operation.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {

namespace field = telemetry::field;

void LogOperation(const RpcKind& kind, CallContext& context, std::string_view owner,
                  const core::AnsweredOperation& operation,
                  const absl::StatusOr<core::SessionAnswer>& answer) {
  const telemetry::Outcome outcome = OutcomeOf(answer);
  const auto elapsed =
      std::chrono::duration_cast<core::Micros>(kind.recorder.Now() - operation.arrived);
  kind.metrics.Record(outcome, telemetry::CodeOf(outcome, answer.status()), elapsed);
  if (answer.ok() && !kind.recorder.logger().Enabled(telemetry::LogLevel::kDebug)) return;
  const core::Lease* lease = LeaseIn(answer);
  const std::string peer = context.Peer();
  kind.recorder.log().Write({.request_id = context.RequestId(),
                             .rpc = kind.name,
                             .peer = peer,
                             .owner_id = operation.owner.empty() ? owner : operation.owner,
                             .lock_name = operation.name,
                             .lease_id = operation.lease_id,
                             .token = lease != nullptr ? lease->token : core::FencingToken{},
                             .waited = lease != nullptr ? lease->waited : core::Micros{},
                             .outcome = outcome,
                             .status = answer.status(),
                             .elapsed = elapsed});
}

void LogAdoption(CallContext& context, std::string_view owner,
                 const v1::SessionAdoptResult& result) {
  const telemetry::Logger& logger = context.kind().recorder.logger();
  if (!logger.Enabled(telemetry::LogLevel::kDebug)) return;
  const std::string peer = context.Peer();
  std::vector<telemetry::LogField> fields = {field::RequestId(context.RequestId()),
                                             field::Peer(peer), field::OwnerId(owner),
                                             field::LockName(result.name())};
  if (result.has_lease()) {
    fields.push_back(field::FencingToken({result.lease().fencing_token()}));
    logger.Debug("session.adopted", "A session keeps a lease that was granted before", fields);
  } else {
    fields.push_back(field::Problem(result.error().message()));
    logger.Debug("session.not_adopted", "A session wanted to keep a lease, and cannot", fields);
  }
}

void LogReleaseAtClose(CallContext& context, std::string_view owner, int32_t released) {
  const std::string detail = "leases released: " + std::to_string(released);
  context.kind().recorder.logger().Debug(
      "session.released", "A session that was closed has released its leases",
      {field::RequestId(context.RequestId()), field::OwnerId(owner), field::Detail(detail)});
}

}  // namespace lockkeeper::rpc
