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

#include "listen/listener.h"
#include "rpc/admin_service.h"
#include "rpc/connection_acceptor.h"
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
        gate(deps.limits, deps.logger, deps.facts.daemon_id),
        recorder(deps),
        locks(edge),
        admin(edge) {}

  absl::Status ClaimUnixSockets(const std::vector<ListenAddress>& listen);
  absl::Status Listen(const std::vector<ListenAddress>& listen);
  absl::Status Serve();
  void FollowHealth();
  void Accept(size_t connections_max);

  const ServiceDeps deps;
  GrpcLogRedirect grpc_log;
  Gate gate;
  CallRecorder recorder;
  const Edge edge{deps, gate, recorder};
  LockService locks;
  AdminService admin;
  std::vector<std::unique_ptr<UnixSocketClaim>> unix_sockets;
  std::vector<ListenAddress> addresses;
  std::vector<os::Descriptor> listening;  // Until they are accepted on.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections;
  std::unique_ptr<grpc::Server> server;
  std::optional<ConnectionAcceptor> acceptor;
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
  for (const ListenAddress& address : listen) {
    absl::StatusOr<listen::Listener> listener = listen::Listen(address);
    if (!listener.ok()) return listener.status();
    addresses.push_back(address);
    addresses.back().port = listener->address.port;
    for (os::Descriptor& socket : listener->sockets) listening.push_back(std::move(socket));
  }
  return absl::OkStatus();
}

absl::Status Server::Impl::Serve() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  ApplyServerSettings(builder);
  builder.RegisterService(&locks);
  builder.RegisterService(&admin);
  connections = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  server = builder.BuildAndStart();
  if (server == nullptr) return {absl::StatusCode::kUnavailable, "gRPC cannot start"};
  return absl::OkStatus();
}

void Server::Impl::Accept(size_t connections_max) {
  acceptor.emplace(
      std::move(listening), connections_max,
      [this](int socket) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
        connection.fd = socket;
        connections->HandleNewConnection(&connection);
      },
      [this] { return gate.calls(); }, deps.clock, deps.metrics, deps.logger);
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
    const std::vector<config::ListenAddress>& listen, ServiceDeps deps, size_t connections_max) {
  auto impl = std::make_unique<Impl>(std::move(deps));
  if (auto status = impl->ClaimUnixSockets(listen); !status.ok()) return status;
  if (auto status = impl->Listen(listen); !status.ok()) return status;
  if (auto status = impl->Serve(); !status.ok()) return status;
  impl->FollowHealth();
  impl->Accept(connections_max);
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { Shutdown(core::Millis(0)); }

const std::vector<config::ListenAddress>& Server::addresses() const { return impl_->addresses; }

void Server::Shutdown(core::Millis grace) {
  if (impl_->server == nullptr) return;
  impl_->gate.Close(grace);
  impl_->acceptor.reset();
  const core::Millis goodbye = std::min(grace, kGoodbyeTime);
  impl_->server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_millis(goodbye.count(), GPR_TIMESPAN)));
  impl_->server->Wait();
  impl_->unix_sockets.clear();
}

}  // namespace lockkeeper::rpc
