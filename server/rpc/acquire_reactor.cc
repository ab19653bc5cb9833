// SPDX-License-Identifier: Apache-2.0
#include "rpc/acquire_reactor.h"

#include <utility>
#include <variant>

#include "rpc/convert.h"

namespace lockkeeper::rpc {

absl::Status AcquireCall::Read(const Request& request, const ServiceDeps& deps,
                               const CallContext& context) {
  absl::Status status = ToCore(request, deps.limits, request_);
  request_.principal = context.principal();
  request_.deadline = context.deadline();
  request_.keeper = keeper_;
  lease_id_ = request_.lease_id;
  attempt_ = request_.attempt;
  may_wait_ = status.ok() && request_.wait_timeout > core::Millis(0);
  return status;
}

void AcquireCall::Run(const ServiceDeps& deps, core::Done<Answer> done) {
  deps.locks.Acquire(std::move(request_), std::move(done));
}

telemetry::Outcome AcquireCall::Write(Answer& answer, Response& response) {
  ToProto(answer, response);
  const telemetry::Outcome outcome = OutcomeOf(answer);
  if (auto* lease = std::get_if<core::Lease>(&answer)) granted_ = std::move(*lease);
  return outcome;
}

CallSubject AcquireCall::Subject(const Request& request) const {
  return {
      .lock_name = request.name(),
      .owner = request.owner(),
      .lease_id = lease_id_,
      .token = granted_ ? granted_->token : core::FencingToken{},
      .waited = granted_ ? granted_->waited : core::Micros(0),
  };
}

void AcquireCall::LeaveLine(const ServiceDeps& deps) const {
  deps.loop.Post([&locks = deps.locks, keeper = keeper_] { locks.Abandon(keeper); });
}

void AcquireCall::WithdrawGrant(const ServiceDeps& deps) {
  if (!granted_) return;
  deps.loop.Post([&locks = deps.locks, lease = std::move(*granted_), attempt = attempt_,
                  keeper = keeper_] { locks.Withdraw(lease, attempt, keeper); });
}

void AcquireReactor::OnCancel() {
  if (call().may_wait()) call().LeaveLine(deps());
}

void AcquireReactor::OnDone() {
  // An answer that was lost on its way is the caller's to ask for again, with the same lease id.
  if (posted() && context().AnswerIsLost()) call().WithdrawGrant(deps());
  UnaryReactor::OnDone();
}

}  // namespace lockkeeper::rpc
