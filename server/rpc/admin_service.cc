// SPDX-License-Identifier: Apache-2.0
#include "rpc/admin_service.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "rpc/answer.h"
#include "rpc/convert_duration.h"
#include "rpc/status_convert.h"
#include "rpc/unary_reactor.h"
#include "rpc/watch_reactor.h"

namespace lockkeeper::rpc {
namespace {

using telemetry::Outcome;

// Says in `response` that the store may have forgotten leases, if it may.
template <typename Response>
void TellQuarantine(const ServiceDeps& deps, Response& response) {
  const telemetry::StoreStatus store = deps.health.Current().store;
  const auto left = store.quarantine_over - deps.clock.Now();
  if (store.grants || left <= core::Micros(0)) return;
  ToProto(std::chrono::duration_cast<core::Micros>(left), *response.mutable_quarantine_left());
}

// Whether a listing shows this lock.
bool AllowsToSee(const access::Rights& rights, std::string_view lock_name) {
  return rights.Allows(access::Verb::kList, lock_name) &&
         rights.Allows(access::Verb::kInspect, lock_name);
}

class GetLockReactor final
    : public UnaryReactor<Verb::kInspect, admin::v1::GetLockRequest, admin::v1::GetLockResponse,
                          std::optional<core::LockInfo>> {
  using UnaryReactor::UnaryReactor;
  void Run(core::Done<std::optional<core::LockInfo>> done) override {
    deps().admin.Get(request().name, request().deadline, std::move(done));
  }
  void OnAnswered(const absl::StatusOr<std::optional<core::LockInfo>>& answer) override {
    if (answer.ok()) TellQuarantine(deps(), response());
  }
};

class ListLocksReactor final : public UnaryReactor<Verb::kList, admin::v1::ListLocksRequest,
                                                   admin::v1::ListLocksResponse, core::LockPage>,
                               public ListQueue::List {
 public:
  ListLocksReactor(const Edge& edge, ListQueue& queue, const grpc::CallbackServerContext& call,
                   const admin::v1::ListLocksRequest& message,
                   admin::v1::ListLocksResponse& response)
      : UnaryReactor(edge, call, message, response), queue_(queue), call_(call) {}

  bool Begin() override { return Start(); }
  void Cancel() override { call_.TryCancel(); }

  void OnCancel() override {
    if (queue_.Withdraw(*this)) Answered({}, Outcome::kCancelled, absl::OkStatus());
  }

  void OnDone() override {
    queue_.Leave(*this);
    UnaryReactor::OnDone();
  }

 private:
  // The queue's thread writes the answer.
  void Run(core::Done<core::LockPage> done) override {
    deps().admin.List(
        request(), [this, done = std::move(done)](absl::StatusOr<core::LockPage> page) mutable {
          queue_.Answer([this, done = std::move(done), page = std::move(page)]() mutable {
            if (page.ok()) KeepVisible(*page);
            std::move(done)(std::move(page));
          });
        });
  }
  // Leaves out the locks of other principals than the one that was asked for, and those that the
  // caller may not list and inspect. Where it may not see all, it is not told how many records
  // cannot be read either.
  void KeepVisible(core::LockPage& page) {
    const access::Rights& rights = context().caller().rights();
    const std::string& wanted = request().holder_principal;
    const std::string_view stored = wanted == access::kAnonymous ? "" : std::string_view(wanted);
    std::erase_if(page.locks, [&](const core::LockInfo& lock) {
      return (!wanted.empty() && lock.principal != stored) || !AllowsToSee(rights, lock.name);
    });
    const bool sees_all = rights.AllowsAllBelow(access::Verb::kList, request().prefix) &&
                          rights.AllowsAllBelow(access::Verb::kInspect, request().prefix);
    if (!sees_all) page.unreadable = 0;
  }
  void OnAnswered(const absl::StatusOr<core::LockPage>& answer) override {
    if (answer.ok()) TellQuarantine(deps(), response());
  }

  ListQueue& queue_;
  const grpc::CallbackServerContext& call_;
};

class ListContendedLocksReactor final
    : public UnaryReactor<Verb::kListContended, admin::v1::ListContendedLocksRequest,
                          admin::v1::ListContendedLocksResponse, telemetry::ContendedLockList> {
  using UnaryReactor::UnaryReactor;
  void Run(core::Done<telemetry::ContendedLockList> done) override {
    const access::Rights& rights = context().caller().rights();
    std::move(done)(deps().contended.Most(
        request().order, static_cast<size_t>(request().limit), [&](std::string_view name) {
          return name.starts_with(request().prefix) && AllowsToSee(rights, name);
        }));
  }
  void OnAnswered(const absl::StatusOr<telemetry::ContendedLockList>& /*answer*/) override {
    response().set_daemon_id(core::Hex16(deps().facts.daemon_id));
  }
};

class ForceReleaseReactor final
    : public UnaryReactor<Verb::kForceRelease, admin::v1::ForceReleaseRequest,
                          admin::v1::ForceReleaseResponse, core::ForceReleaseAnswer> {
  using UnaryReactor::UnaryReactor;
  void Run(core::Done<core::ForceReleaseAnswer> done) override {
    deps().admin.ForceRelease(
        request(),
        [this, done = std::move(done)](absl::StatusOr<core::ForceReleaseAnswer> answer) mutable {
          if (answer.ok() && answer->released && !answer->opened) TellWatches(*answer);
          std::move(done)(std::move(answer));
        });
  }
  void TellWatches(const core::ForceReleaseAnswer& answer) {
    if (!deps().watches.Wants(message().name())) return;
    deps().watches.OnEvent({.kind = core::LockEventKind::kForced,
                            .name = message().name(),
                            .token = answer.token,
                            .owner = answer.holder_owner,
                            .remaining = answer.closed_for});
  }
  void OnAnswered(const absl::StatusOr<core::ForceReleaseAnswer>& answer) override {
    auditor().Answered(context().caller(), request(), answer);
  }
};

class EndQuarantineReactor final
    : public UnaryReactor<Verb::kEndQuarantine, admin::v1::EndQuarantineRequest,
                          admin::v1::EndQuarantineResponse, core::EndQuarantineAnswer> {
  using UnaryReactor::UnaryReactor;
  void Run(core::Done<core::EndQuarantineAnswer> done) override {
    deps().admin.EndQuarantine(request(), std::move(done));
  }
  void OnAnswered(const absl::StatusOr<core::EndQuarantineAnswer>& answer) override {
    auditor().Answered(context().caller(), request(), answer);
  }
};

void FillStore(const telemetry::StoreStatus& store, const ServerFacts& facts, core::Instant now,
               admin::v1::StoreInfo& to) {
  to.set_kind(facts.store_kind);
  to.set_address(facts.store_address);
  to.set_reachable(store.reachable);
  to.set_problem(store.problem);
  to.set_server_version(store.server_version);
  to.set_assurance(ToProto(store.assurance));
  to.set_id(store.id);
  to.set_run_id(store.run_id);
  to.set_epoch(store.epoch);
  to.set_grant_problem(store.GrantProblem(now));
  if (store.quarantine_end.micros > 0) {
    ToProto(store.quarantine_end, *to.mutable_quarantine_end_time());
    const auto left = std::chrono::duration_cast<core::Micros>(store.quarantine_over - now);
    ToProto(std::max(left, core::Micros(0)), *to.mutable_quarantine_left());
  }
  to.set_last_loss(store.loss);
  to.set_last_loss_detail(store.loss_detail);
  if (store.noticed.micros > 0) ToProto(store.noticed, *to.mutable_last_loss_time());
}

void FillConfigFile(const ConfigFileState& state, admin::v1::ConfigFile& to) {
  to.set_path(state.path);
  ToProto(state.read, *to.mutable_read_time());
  to.set_in_use(state.problem.empty());
  to.set_problem(state.problem);
  for (const std::string& key : state.need_restart) to.add_needs_restart(key);
  to.mutable_settings()->insert(state.reloadable.begin(), state.reloadable.end());
}

// How the store was when the daemon looked last.
void FillLook(const std::optional<telemetry::StoreLook>& look, admin::v1::StoreInfo& to) {
  if (!look) return;
  ToProto(look->latency, *to.mutable_latency());
  if (look->clock_ahead) ToProto(*look->clock_ahead, *to.mutable_clock_ahead());
}

void FillPolicy(const access::Rulebook& rulebook, admin::v1::PolicyInfo& to) {
  const access::Rulebook::Size size = rulebook.size();
  to.set_restricts(rulebook.restricts());
  to.set_roles(static_cast<int32_t>(size.roles));
  to.set_bindings(static_cast<int32_t>(size.bindings));
  to.set_jwt_issuers(static_cast<int32_t>(size.jwt_issuers));
  to.set_tokens(static_cast<int32_t>(size.tokens));
}

void FillFiles(const DaemonView& daemon, admin::v1::GetServerInfoResponse& to) {
  for (CertificateEnd& end : daemon.Certificates()) {
    admin::v1::CertificateInfo& certificate = *to.add_certificates();
    certificate.set_name(std::move(end.name));
    certificate.mutable_expire_time()->set_seconds(end.seconds);
  }
  for (RefusedFiles& refused : daemon.Refused()) {
    admin::v1::RefusedFiles& files = *to.add_refused_files();
    files.set_files(std::move(refused.files));
    files.set_problem(std::move(refused.problem));
  }
}

// What this daemon does now.
void FillWork(const telemetry::Metrics& metrics, admin::v1::GetServerInfoResponse& to) {
  to.set_sessions(static_cast<int64_t>(metrics.sessions().Value()));
  to.set_session_leases(static_cast<int64_t>(metrics.session_leases().Value()));
  to.set_waiters(static_cast<int64_t>(metrics.waiters().Value()));
}

void FillServerInfo(const ServiceDeps& deps, const std::vector<config::ListenAddress>& addresses,
                    admin::v1::GetServerInfoResponse& to) {
  const telemetry::Health health = deps.health.Current();
  to.set_version(deps.facts.version);
  to.set_daemon_id(core::Hex16(deps.facts.daemon_id));
  ToProto(deps.facts.started, *to.mutable_start_time());
  to.set_draining(health.draining);
  to.set_problem(health.problem());
  to.set_audit_problem(health.audit_problem);
  FillStore(health.store, deps.facts, deps.clock.Now(), *to.mutable_store());
  for (std::string& note : health.notes()) to.mutable_store()->add_notes(std::move(note));
  FillLook(deps.health.LastLook(), *to.mutable_store());
  to.mutable_store()->mutable_settings()->insert(deps.facts.store_settings.begin(),
                                                 deps.facts.store_settings.end());
  ToProto(core::WallTime{absl::ToUnixMicros(deps.access.Now())}, *to.mutable_current_time());
  ToProto(std::chrono::duration_cast<core::Micros>(deps.clock.Now() - deps.facts.started_at),
          *to.mutable_uptime());
  for (const config::ListenAddress& address : addresses) {
    to.add_grpc_addresses(address.ToString());
  }
  to.set_http_address(deps.facts.http_address);
  FillWork(deps.metrics, to);
  FillFiles(deps.daemon, to);
  FillPolicy(*deps.access.Current(), *to.mutable_policy());
  ToProto(deps.limits.Current()->LongestTtl(), *to.mutable_max_ttl());
  ToProto(deps.facts.record_retention, *to.mutable_record_retention());
  if (deps.config_file) FillConfigFile(deps.config_file(), *to.mutable_config_file());
}

}  // namespace

AdminService::AdminService(const Edge& edge, const std::vector<config::ListenAddress>& addresses)
    : edge_(edge), addresses_(addresses) {}

grpc::ServerUnaryReactor* AdminService::GetLock(grpc::CallbackServerContext* context,
                                                const admin::v1::GetLockRequest* request,
                                                admin::v1::GetLockResponse* response) {
  return Started<GetLockReactor>(edge_, *context, *request, *response);
}

grpc::ServerUnaryReactor* AdminService::ListLocks(grpc::CallbackServerContext* context,
                                                  const admin::v1::ListLocksRequest* request,
                                                  admin::v1::ListLocksResponse* response) {
  auto* reactor = new ListLocksReactor(edge_, lists_, *context, *request, *response);
  lists_.Enter(*reactor);
  return reactor;
}

grpc::ServerWriteReactor<admin::v1::WatchLocksResponse>* AdminService::WatchLocks(
    grpc::CallbackServerContext* context, const admin::v1::WatchLocksRequest* request) {
  auto* reactor = new WatchReactor(edge_, *context, *request);
  reactor->Start();
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ListContendedLocks(
    grpc::CallbackServerContext* context, const admin::v1::ListContendedLocksRequest* request,
    admin::v1::ListContendedLocksResponse* response) {
  return Started<ListContendedLocksReactor>(edge_, *context, *request, *response);
}

grpc::ServerUnaryReactor* AdminService::ForceRelease(grpc::CallbackServerContext* context,
                                                     const admin::v1::ForceReleaseRequest* request,
                                                     admin::v1::ForceReleaseResponse* response) {
  return Started<ForceReleaseReactor>(edge_, *context, *request, *response);
}

grpc::ServerUnaryReactor* AdminService::EndQuarantine(
    grpc::CallbackServerContext* context, const admin::v1::EndQuarantineRequest* request,
    admin::v1::EndQuarantineResponse* response) {
  return Started<EndQuarantineReactor>(edge_, *context, *request, *response);
}

grpc::ServerUnaryReactor* AdminService::Drain(grpc::CallbackServerContext* context,
                                              const admin::v1::DrainRequest* request,
                                              admin::v1::DrainResponse* response) {
  return AnswerAtOnce(edge_, *context, *request, [&](Caller& caller, const Operation& operation) {
    const ServiceDeps& deps = edge_.deps;
    const bool is_draining = drain_asked_.exchange(true) || deps.health.Current().draining;
    response->set_started(!is_draining);
    response->set_daemon_id(core::Hex16(deps.facts.daemon_id));
    ToProto(deps.drain_timeout, *response->mutable_drain_timeout());
    edge_.auditor.Answered(caller, std::get<DrainRequest>(operation.request), !is_draining);
    if (!is_draining) deps.ask_to_stop();
  });
}

grpc::ServerUnaryReactor* AdminService::GetServerInfo(
    grpc::CallbackServerContext* context, const admin::v1::GetServerInfoRequest* request,
    admin::v1::GetServerInfoResponse* response) {
  return AnswerAtOnce(edge_, *context, *request, [&](const Caller&, const Operation&) {
    FillServerInfo(edge_.deps, addresses_, *response);
  });
}

}  // namespace lockkeeper::rpc
