// SPDX-License-Identifier: Apache-2.0
#include "rpc/lock_service.h"

#include <optional>
#include <utility>

#include "core/errors.h"
#include "rpc/session_reactor.h"
#include "rpc/unary_reactor.h"

namespace lockkeeper::rpc {
namespace {

// Unlike other calls, an acquire may wait for minutes, and may leave something behind: a place in
// line, or a grant that its caller never hears of. Either is withdrawn; the keeper of this very
// call names it.
class AcquireReactor final : public UnaryReactor<Verb::kAcquire, v1::AcquireRequest,
                                                 v1::AcquireResponse, core::AcquireAnswer> {
 public:
  using UnaryReactor::UnaryReactor;

  // The caller left, or its deadline passed. gRPC calls it after Start has returned and not after
  // OnDone, but perhaps while the loop answers. An acquire that waits, or that is being confirmed,
  // ends.
  void OnCancel() override {
    if (!admitted()) return;
    // Behind the acquire itself, which may wait for its turn. The call may have ended by then.
    deps().loop.Post([&share = fair_share(), principal = context().caller().principal(),
                      &locks = deps().locks, keeper = request().keeper] {
      share.Run(principal, [&locks, keeper] { locks.Abandon(keeper); });
    });
  }

  // Now it is known whether the answer could be sent. If it is lost on the network, the caller
  // retries with the same lease id.
  void OnDone() override {
    if (granted_for_ && context().AnswerIsLost()) Withdraw();
    UnaryReactor::OnDone();
  }

 private:
  void Run(core::Done<core::AcquireAnswer> done) override {
    deps().locks.Acquire(std::move(request()), std::move(done));
  }

  void OnAnswered(const absl::StatusOr<core::AcquireAnswer>& answer) override {
    const core::Lease* lease = answer.ok() ? LeaseIn(*answer) : nullptr;
    if (lease == nullptr) return;
    granted_for_ = lease->remaining_ttl;
    if (const auto& usage = context().caller().usage()) {
      const core::Instant now = deps().clock.Now();
      usage->Granted(lease->name, lease->lease_id, now + lease->remaining_ttl, now);
    }
  }

  void Withdraw() {
    core::Lease lease;
    lease.name = message().name();
    lease.lease_id = request().lease_id;
    lease.remaining_ttl = *granted_for_;
    deps().loop.Post([&locks = deps().locks, lease = std::move(lease), attempt = request().attempt,
                      keeper = request().keeper] { locks.Withdraw(lease, attempt, keeper); });
  }

  std::optional<core::Micros> granted_for_;
};

class ExtendReactor final
    : public UnaryReactor<Verb::kExtend, v1::ExtendRequest, v1::ExtendResponse, core::Lease> {
  using UnaryReactor::UnaryReactor;
  void Run(core::Done<core::Lease> done) override {
    deps().locks.Extend(std::move(request()), std::move(done));
  }
  void OnAnswered(const absl::StatusOr<core::Lease>& answer) override {
    const auto& usage = context().caller().usage();
    if (usage == nullptr) return;
    if (answer.ok()) {
      usage->Extended(answer->name, answer->lease_id, deps().clock.Now() + answer->remaining_ttl);
    } else if (core::ReasonOf(answer.status()) == core::ErrorReason::kLeaseLost) {
      usage->Ended(message().name(), request().lease_id);
    }
  }
};

class ReleaseReactor final : public UnaryReactor<Verb::kRelease, v1::ReleaseRequest,
                                                 v1::ReleaseResponse, core::ReleaseAnswer> {
  using UnaryReactor::UnaryReactor;
  void Run(core::Done<core::ReleaseAnswer> done) override {
    deps().locks.Release(std::move(request()), std::move(done));
  }
  void OnAnswered(const absl::StatusOr<core::ReleaseAnswer>& answer) override {
    const auto& usage = context().caller().usage();
    if (usage != nullptr && answer.ok()) usage->Ended(message().name(), request().lease_id);
  }
};

class FenceReactor final
    : public UnaryReactor<Verb::kFence, v1::FenceRequest, v1::FenceResponse, core::FenceAnswer> {
  using UnaryReactor::UnaryReactor;
  void Run(core::Done<core::FenceAnswer> done) override {
    deps().locks.Fence(std::move(request()), std::move(done));
  }
};

}  // namespace

LockService::LockService(const Edge& edge) : edge_(edge), sessions_(edge.deps.metrics.sessions()) {}

grpc::ServerUnaryReactor* LockService::Acquire(grpc::CallbackServerContext* context,
                                               const v1::AcquireRequest* request,
                                               v1::AcquireResponse* response) {
  return Started<AcquireReactor>(edge_, *context, *request, *response);
}

grpc::ServerUnaryReactor* LockService::Extend(grpc::CallbackServerContext* context,
                                              const v1::ExtendRequest* request,
                                              v1::ExtendResponse* response) {
  return Started<ExtendReactor>(edge_, *context, *request, *response);
}

grpc::ServerUnaryReactor* LockService::Release(grpc::CallbackServerContext* context,
                                               const v1::ReleaseRequest* request,
                                               v1::ReleaseResponse* response) {
  return Started<ReleaseReactor>(edge_, *context, *request, *response);
}

grpc::ServerUnaryReactor* LockService::Fence(grpc::CallbackServerContext* context,
                                             const v1::FenceRequest* request,
                                             v1::FenceResponse* response) {
  return Started<FenceReactor>(edge_, *context, *request, *response);
}

grpc::ServerUnaryReactor* LockService::CheckAccess(grpc::CallbackServerContext* context,
                                                   const v1::CheckAccessRequest* request,
                                                   v1::CheckAccessResponse* response) {
  return AnswerAtOnce(
      edge_, *context, *request, [&](const Caller& caller, const Operation& operation) {
        const auto& asked = std::get<CheckAccessRequest>(operation.request);
        const access::Identity& who = caller.identity();
        response->set_principal(who.principal);
        response->set_proof(std::string(NameOf(who.proof)));
        response->set_issuer(who.issuer);
        for (const std::string& role : caller.rights().roles()) response->add_roles(role);
        response->set_allowed(asked.verb && CheckRight(caller, *asked.verb, asked.name).ok());
      });
}

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* LockService::Session(
    grpc::CallbackServerContext* context) {
  return new SessionReactor(edge_, sessions_, *context);
}

}  // namespace lockkeeper::rpc
