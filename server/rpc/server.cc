// SPDX-License-Identifier: Apache-2.0
#include "rpc/server.h"

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "rpc/admin_service.h"
#include "rpc/bind_problem.h"
#include "rpc/grpc_log.h"
#include "rpc/lock_service.h"
#include "rpc/server_settings.h"
#include "rpc/unix_socket.h"

namespace lockkeeper::rpc {
namespace {

using config::ListenAddress;

// For connections without calls to hear that they end; then they are cut. A client that does not
// poll its connection would let us wait for seconds.
constexpr core::Millis kGoodbyeTime{200};

}  // namespace

struct Server::Impl {
  explicit Impl(ServiceDeps service_deps)
      : deps(std::move(service_deps)),
        grpc_log(deps.logger),
        recorder(deps.clock, deps.logger, deps.facts.daemon_id),
        locks(deps, recorder),
        admin(deps, recorder) {}

  absl::Status ClaimUnixSockets(const std::vector<ListenAddress>& listen);
  absl::Status Listen(const std::vector<ListenAddress>& listen);
  void FollowHealth();

  const ServiceDeps deps;
  GrpcLogRedirect grpc_log;
  CallRecorder recorder;
  LockService locks;
  AdminService admin;
  std::vector<std::unique_ptr<UnixSocketClaim>> unix_sockets;
  std::vector<ListenAddress> addresses;
  std::unique_ptr<grpc::Server> server;
  std::optional<telemetry::HealthSubscription> health_subscription;
};

absl::Status Server::Impl::ClaimUnixSockets(const std::vector<ListenAddress>& listen) {
  for (const ListenAddress& address : listen) {
    if (!address.is_unix()) continue;
    auto claim = UnixSocketClaim::Make(address.path);
    if (!claim.ok()) return claim.status();
    unix_sockets.push_back(std::move(*claim));
  }
  return absl::OkStatus();
}

absl::Status Server::Impl::Listen(const std::vector<ListenAddress>& listen) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  ApplyServerSettings(builder);
  builder.RegisterService(&locks);
  builder.RegisterService(&admin);
  std::vector<int> ports(listen.size(), 0);
  for (size_t i = 0; i < listen.size(); ++i) {
    builder.AddListeningPort(listen[i].ToString(), grpc::InsecureServerCredentials(), &ports[i]);
  }
  server = builder.BuildAndStart();
  for (size_t i = 0; i < listen.size(); ++i) {
    if (ports[i] == 0) return {absl::StatusCode::kUnavailable, BindProblem(listen[i])};
    addresses.push_back(listen[i]);
    if (!listen[i].is_unix()) addresses.back().port = static_cast<uint16_t>(ports[i]);
  }
  if (server == nullptr) return {absl::StatusCode::kUnavailable, "gRPC cannot start"};
  return absl::OkStatus();
}

void Server::Impl::FollowHealth() {
  health_subscription.emplace(deps.health.Subscribe(
      [this, health = server->GetHealthCheckService()](const telemetry::Health& now) {
        if (now.draining) locks.StartDraining(deps.drain_timeout);
        for (const char* name : {"", v1::LockService::service_full_name(),
                                 admin::v1::AdminService::service_full_name()}) {
          health->SetServingStatus(name, now.serving());
        }
        health->SetServingStatus("store", now.granting());
      }));
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const std::vector<config::ListenAddress>& listen, ServiceDeps deps) {
  auto impl = std::make_unique<Impl>(std::move(deps));
  if (auto status = impl->ClaimUnixSockets(listen); !status.ok()) return status;
  if (auto status = impl->Listen(listen); !status.ok()) return status;
  impl->FollowHealth();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { Shutdown(core::Millis(0)); }

const std::vector<config::ListenAddress>& Server::addresses() const { return impl_->addresses; }

void Server::Shutdown(core::Millis grace) {
  if (impl_->server == nullptr) return;
  impl_->recorder.gate().Close(grace);
  const core::Millis goodbye = std::min(grace, kGoodbyeTime);
  impl_->server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_millis(goodbye.count(), GPR_TIMESPAN)));
  impl_->server->Wait();
  impl_->unix_sockets.clear();
}

}  // namespace lockkeeper::rpc
