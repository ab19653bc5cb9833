// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_operation.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "core/errors.h"
#include "rpc/call_outcome.h"
#include "rpc/convert.h"
#include "rpc/convert_duration.h"
#include "rpc/status_convert.h"

namespace lockkeeper::rpc {
namespace {

using Operation = v1::SessionOperation;

// The stream has no deadline that would hold for one operation.
template <typename Request>
Request& New(core::SessionOperation& to) {
  Request& request = to.request.emplace<Request>();
  request.deadline = core::Instant::max();
  return request;
}

absl::Status ReadAcquire(const v1::AcquireRequest& from, const SessionFacts& session,
                         core::AcquireRequest& to) {
  absl::Status status = ToCore(from, session.limits, to);
  if (to.owner.empty()) to.owner = session.owner;
  to.principal = session.principal;
  to.keeper = session.keepers.Next();
  return status;
}

}  // namespace

absl::Status ToCore(const Operation& from, const SessionFacts& session,
                    core::SessionOperation& to) {
  to.id = from.id();
  switch (from.operation_case()) {
    case Operation::kAcquire:
      return ReadAcquire(from.acquire(), session, New<core::AcquireRequest>(to));
    case Operation::kExtend: {
      auto& request = New<core::ExtendRequest>(to);
      request.principal = session.principal;
      return ToCore(from.extend(), session.limits, request);
    }
    case Operation::kRelease: {
      auto& request = New<core::ReleaseRequest>(to);
      request.principal = session.principal;
      return ToCore(from.release(), request);
    }
    case Operation::kFence:
      return ToCore(from.fence(), New<core::FenceRequest>(to));
    case Operation::OPERATION_NOT_SET:
      break;
  }
  return core::InvalidField("operation", "is not set, or is newer than this server");
}

absl::Status ToCore(const v1::SessionAdopt& from, const SessionFacts& session,
                    core::ExtendRequest& to) {
  v1::ExtendRequest extend;
  extend.set_name(from.name());
  extend.set_lease_id(from.lease_id());
  extend.set_fencing_token(from.fencing_token());
  extend.set_reassertion(from.reassertion());
  to.principal = session.principal;
  to.keeper = session.keepers.NextHolder();
  to.deadline = core::Instant::max();
  absl::Status status = ToCore(extend, session.limits, to);
  if (status.ok() && from.fencing_token() == 0) {
    status = core::InvalidField("fencing_token", "has to be given to adopt a lease");
  }
  return status;
}

void ToProto(const absl::Status& from, v1::OperationError& to) {
  const core::ErrorReason reason =
      core::ReasonOf(from).value_or(core::ErrorReason::kInvariantViolated);
  to.set_code(static_cast<int>(core::RowOf(reason).code));
  to.set_reason(static_cast<v1::ErrorReason>(reason));
  to.set_message(std::string(from.message()));
  if (const auto field = core::FieldOf(from)) (*to.mutable_metadata())["field"] = *field;
  if (const auto delay = RetryDelayFor(from)) {
    ToProto(core::Micros(*delay), *to.mutable_retry_delay());
  }
}

void ToProto(const absl::StatusOr<core::SessionAnswer>& from, v1::SessionResult& to) {
  if (!from.ok()) return ToProto(from.status(), *to.mutable_error());
  std::visit(
      [&to](const auto& answer) {
        using Answer = std::decay_t<decltype(answer)>;
        if constexpr (std::is_same_v<Answer, core::AcquireAnswer>) {
          ToProto(answer, *to.mutable_acquire());
        } else if constexpr (std::is_same_v<Answer, core::Lease>) {
          ToProto(answer, *to.mutable_extend());
        } else if constexpr (std::is_same_v<Answer, core::ReleaseAnswer>) {
          ToProto(answer, *to.mutable_release());
        } else {
          ToProto(answer, *to.mutable_fence());
        }
      },
      *from);
}

v1::SessionHeartbeatResult ToProto(core::HeartbeatAnswer from) {
  v1::SessionHeartbeatResult to;
  for (core::NotExtended& failed : from.not_extended) {
    v1::SessionLeaseLost& lost = *to.add_not_extended();
    lost.set_name(std::move(failed.name));
    lost.set_lease_id(std::string(failed.lease_id.digits()));
    lost.set_reason(static_cast<v1::ErrorReason>(failed.reason));
  }
  auto& proofs = *to.mutable_reassertions();
  for (auto& [id, proof] : from.proofs) proofs[std::string(id.digits())] = std::move(proof);
  return to;
}

telemetry::Outcome OutcomeOf(const absl::StatusOr<core::SessionAnswer>& answer) {
  if (!answer.ok()) return OutcomeOf(answer.status());
  return std::visit([](const auto& known) { return OutcomeOf(known); }, *answer);
}

const core::Lease* LeaseIn(const absl::StatusOr<core::SessionAnswer>& answer) {
  if (!answer.ok()) return nullptr;
  if (const auto* acquired = std::get_if<core::AcquireAnswer>(&*answer)) {
    return std::get_if<core::Lease>(acquired);
  }
  return std::get_if<core::Lease>(&*answer);
}

}  // namespace lockkeeper::rpc
