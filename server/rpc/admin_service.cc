// SPDX-License-Identifier: Apache-2.0
#include "rpc/admin_service.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "rpc/convert.h"
#include "rpc/convert_admin.h"
#include "rpc/convert_duration.h"
#include "rpc/unary_reactor.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {
namespace {

using telemetry::Outcome;

// Says in `response` that the store may have forgotten leases, if it may.
template <typename Response>
void TellQuarantine(const ServiceDeps& deps, Response& response) {
  const telemetry::GrantHealth grants = deps.health.Current().grants;
  const auto left = grants.quarantine_over - deps.clock.Now();
  if (grants.granting || left <= core::Micros(0)) return;
  ToProto(std::chrono::duration_cast<core::Micros>(left), *response.mutable_quarantine_left());
}

struct GetLockCall {
  using Request = admin::v1::GetLockRequest;
  using Response = admin::v1::GetLockResponse;
  using Answer = std::optional<core::LockInfo>;

  absl::Status Read(const Request& from, const ServiceDeps& service, const CallContext& context) {
    deps = &service;
    request.deadline = context.deadline();
    return ToCore(from, request);
  }
  void Run(const ServiceDeps& service, core::Done<Answer> done) {
    service.admin.Get(request.name, request.deadline, std::move(done));
  }
  Outcome Write(Answer& answer, Response& response) {
    ToProto(answer, response);
    TellQuarantine(*deps, response);
    return answer ? Outcome::kFound : Outcome::kNotFound;
  }
  CallSubject Subject(const Request& from) const { return {.lock_name = from.name()}; }

  GetLockRequest request;
  const ServiceDeps* deps = nullptr;
};

struct ListLocksCall {
  using Request = admin::v1::ListLocksRequest;
  using Response = admin::v1::ListLocksResponse;
  using Answer = core::LockPage;

  absl::Status Read(const Request& from, const ServiceDeps& service, const CallContext& context) {
    deps = &service;
    request.deadline = context.deadline();
    return ToCore(from, request);
  }
  void Run(const ServiceDeps& service, core::Done<Answer> done) {
    const auto to_queue = [this](core::Task answer) { queue->Answer(std::move(answer)); };
    service.admin.List(request,
                       [to_queue, done = std::move(done)](absl::StatusOr<Answer> answer) mutable {
                         to_queue([done = std::move(done), answer = std::move(answer)]() mutable {
                           std::move(done)(std::move(answer));
                         });
                       });
  }
  Outcome Write(Answer& answer, Response& response) {
    ToProto(answer, response);
    TellQuarantine(*deps, response);
    return Outcome::kListed;
  }
  CallSubject Subject(const Request&) const { return {}; }

  core::ListRequest request;
  ListQueue* queue = nullptr;  // Its thread writes the answer.
  const ServiceDeps* deps = nullptr;
};

class ListLocksReactor final : public UnaryReactor<ListLocksCall>, public ListQueue::List {
 public:
  ListLocksReactor(const RpcKind& kind, const ServiceDeps& deps, ListQueue& queue,
                   const grpc::CallbackServerContext& context, const Request& request,
                   Response& response)
      : UnaryReactor(kind, deps, context, request, response), queue_(queue), context_(context) {
    call().queue = &queue_;
  }

  bool Begin() override { return Start(); }
  void Cancel() override { context_.TryCancel(); }

  void OnCancel() override {
    if (queue_.Withdraw(*this)) Answered(Outcome::kCancelled, absl::OkStatus());
  }

  void OnDone() override {
    queue_.Leave(*this);
    UnaryReactor::OnDone();
  }

 private:
  ListQueue& queue_;
  const grpc::CallbackServerContext& context_;
};

struct ForceReleaseCall {
  using Request = admin::v1::ForceReleaseRequest;
  using Response = admin::v1::ForceReleaseResponse;
  using Answer = core::ForceReleaseAnswer;

  absl::Status Read(const Request& from, const ServiceDeps&, const CallContext& context) {
    asked.request.deadline = context.deadline();
    return ToCore(from, asked);
  }
  void Run(const ServiceDeps& service, core::Done<Answer> done) {
    service.admin.ForceRelease(asked.request, std::move(done));
  }
  Outcome Write(Answer& answer, Response& response) {
    ToProto(answer, response);
    return answer.released ? Outcome::kForceReleased : Outcome::kNotReleased;
  }
  CallSubject Subject(const Request& from) const { return {.lock_name = from.name()}; }
  void Audit(CallContext& context, const absl::StatusOr<Answer>& answer);

  AuditedForceRelease asked;
};

void ForceReleaseCall::Audit(CallContext& context, const absl::StatusOr<Answer>& answer) {
  namespace field = telemetry::field;
  const telemetry::Logger& logger = context.kind().recorder.logger();
  const std::string peer = context.Peer();
  if (!answer.ok()) {
    const std::string problem(answer.status().message());
    logger.Warn("audit.force_release_failed",
                "An administrator could not end a lease, or it is unknown whether",
                {field::RequestId(context.RequestId()), field::Peer(peer),
                 field::OwnerId(asked.owner), field::LockName(asked.request.name),
                 field::AuditReason(asked.reason), field::Problem(problem)});
    return;
  }
  const auto outcome = field::Outcome(
      telemetry::NameOf(answer->released ? Outcome::kForceReleased : Outcome::kNotReleased));
  if (!answer->released) {
    logger.Info(
        "audit.force_release_found_none",
        "An administrator wanted to end a lease, and none was live",
        {field::RequestId(context.RequestId()), field::Peer(peer), field::OwnerId(asked.owner),
         field::LockName(asked.request.name), field::AuditReason(asked.reason),
         field::FencingToken(answer->token), field::ClosedFor(answer->closed_for), outcome});
    return;
  }
  logger.Info("audit.force_release", "An administrator ended a lease, or opened a closed lock",
              {field::RequestId(context.RequestId()), field::Peer(peer),
               field::OwnerId(asked.owner), field::LockName(asked.request.name),
               field::HolderOwner(answer->holder_owner), field::AuditReason(asked.reason),
               field::FencingToken(answer->token), field::ClosedFor(answer->closed_for), outcome});
}

void FillStore(const telemetry::StoreHealth& health, const ServerFacts& facts,
               admin::v1::StoreInfo& to) {
  to.set_kind(facts.store_kind);
  to.set_address(facts.store_address);
  to.set_reachable(health.reachable);
  to.set_problem(health.problem);
  to.set_server_version(health.server_version);
  to.set_assurance(ToProto(health.assurance));
}

void FillGrants(const telemetry::GrantHealth& grants, core::Instant now, admin::v1::StoreInfo& to) {
  to.set_epoch(grants.epoch);
  to.set_grant_problem(grants.Problem(now));
  if (grants.quarantine_end.micros > 0) {
    ToProto(grants.quarantine_end, *to.mutable_quarantine_end_time());
    const auto left = std::chrono::duration_cast<core::Micros>(grants.quarantine_over - now);
    ToProto(std::max(left, core::Micros(0)), *to.mutable_quarantine_left());
  }
  to.set_last_loss(grants.loss);
  to.set_last_loss_detail(grants.loss_detail);
  if (grants.noticed.micros > 0) ToProto(grants.noticed, *to.mutable_last_loss_time());
}

void FillServerInfo(const ServiceDeps& deps, admin::v1::GetServerInfoResponse& to) {
  const telemetry::Health health = deps.health.Current();
  to.set_version(deps.facts.version);
  to.set_daemon_id(core::Hex16(deps.facts.daemon_id));
  ToProto(deps.facts.started, *to.mutable_start_time());
  to.set_draining(health.draining);
  FillStore(health.store, deps.facts, *to.mutable_store());
  FillGrants(health.grants, deps.clock.Now(), *to.mutable_store());
  for (std::string& note : health.notes()) to.mutable_store()->add_notes(std::move(note));
  ToProto(deps.limits.max_ttl, *to.mutable_max_ttl());
  ToProto(deps.facts.record_retention, *to.mutable_record_retention());
}

}  // namespace

AdminService::AdminService(const ServiceDeps& deps, CallRecorder& recorder)
    : deps_(deps),
      get_lock_{"GetLock", deps.metrics.ForRpc("GetLock"), recorder},
      list_locks_{"ListLocks", deps.metrics.ForRpc("ListLocks"), recorder},
      force_release_{"ForceRelease", deps.metrics.ForRpc("ForceRelease"), recorder},
      get_server_info_{"GetServerInfo", deps.metrics.ForRpc("GetServerInfo"), recorder} {}

grpc::ServerUnaryReactor* AdminService::GetLock(grpc::CallbackServerContext* context,
                                                const admin::v1::GetLockRequest* request,
                                                admin::v1::GetLockResponse* response) {
  return StartCall<GetLockCall>(get_lock_, deps_, *context, *request, *response);
}

grpc::ServerUnaryReactor* AdminService::ListLocks(grpc::CallbackServerContext* context,
                                                  const admin::v1::ListLocksRequest* request,
                                                  admin::v1::ListLocksResponse* response) {
  auto* reactor = new ListLocksReactor(list_locks_, deps_, lists_, *context, *request, *response);
  lists_.Enter(*reactor);
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ForceRelease(grpc::CallbackServerContext* context,
                                                     const admin::v1::ForceReleaseRequest* request,
                                                     admin::v1::ForceReleaseResponse* response) {
  return StartCall<ForceReleaseCall>(force_release_, deps_, *context, *request, *response);
}

grpc::ServerUnaryReactor* AdminService::GetServerInfo(
    grpc::CallbackServerContext* context, const admin::v1::GetServerInfoRequest* /*request*/,
    admin::v1::GetServerInfoResponse* response) {
  CallContext call(get_server_info_, *context);
  FillServerInfo(deps_, *response);
  call.RecordAnswer(Outcome::kDone, absl::OkStatus(), {});
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace lockkeeper::rpc
