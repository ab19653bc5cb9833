// SPDX-License-Identifier: Apache-2.0
//
// One Acquire call. Unlike the others it may last for minutes, while it waits for its turn, and may
// leave something behind: a place in line, or a grant of which its caller never heard. Either is
// taken back, by the keeper that this very call put on it.
#pragma once

#include <optional>

#include "core/requests.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/unary_reactor.h"

namespace lockkeeper::rpc {

class AcquireCall {
 public:
  using Request = v1::AcquireRequest;
  using Response = v1::AcquireResponse;
  using Answer = core::AcquireAnswer;

  absl::Status Read(const Request& request, const ServiceDeps& deps, const CallContext& context);
  void Run(const ServiceDeps& deps, core::Done<Answer> done);
  telemetry::Outcome Write(Answer& answer, Response& response);
  CallSubject Subject(const Request& request) const;

  // Who may withdraw the grant of this call. Set it before Read.
  void set_keeper(const core::Keeper& keeper) { keeper_ = keeper; }

  // Whether it is a legal acquire that stands in line if it has to.
  bool may_wait() const { return may_wait_; }

  // Gives the place in line up that this call has or is about to get. Call it on any thread, once
  // the call runs and until it is over.
  void LeaveLine(const ServiceDeps& deps) const;

  // Takes the grant of this call back, if there is one. Call it on any thread, at the end.
  void WithdrawGrant(const ServiceDeps& deps);

 private:
  core::AcquireRequest request_;  // Empty once it runs.
  bool may_wait_ = false;
  core::LeaseId lease_id_;
  int32_t attempt_ = 0;
  core::Keeper keeper_;
  std::optional<core::Lease> granted_;
};

class AcquireReactor final : public UnaryReactor<AcquireCall> {
 public:
  AcquireReactor(const RpcKind& kind, const ServiceDeps& deps,
                 const grpc::CallbackServerContext& context, const Request& request,
                 Response& response)
      : UnaryReactor(kind, deps, context, request, response) {}

  // Requires: `keeper` is given to no other call.
  void Start(const core::Keeper& keeper) {
    call().set_keeper(keeper);
    UnaryReactor::Start();
  }

  // The caller left, or its deadline passed. gRPC calls it after Start has returned and not after
  // OnDone, but perhaps while the loop answers.
  void OnCancel() override;

  // Now it is known whether the answer could be sent.
  void OnDone() override;
};

}  // namespace lockkeeper::rpc
