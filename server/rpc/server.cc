// SPDX-License-Identifier: Apache-2.0
#include "rpc/server.h"

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "listen/listener.h"
#include "rpc/admin_service.h"
#include "rpc/connection_acceptor.h"
#include "rpc/grpc_log.h"
#include "rpc/lock_service.h"
#include "rpc/server_settings.h"
#include "rpc/tls_credentials.h"
#include "rpc/unix_socket.h"

namespace lockkeeper::rpc {
namespace {

using config::ListenAddress;

// Time for connections without calls to hear of the shutdown; then they are cut. A client that does
// not poll its connection would make us wait for seconds.
constexpr core::Millis kGoodbyeTime{200};

using Connections = grpc::experimental::ExternalConnectionAcceptor;

std::shared_ptr<grpc::ServerCredentials> CredentialsFor(
    config::Security security, const std::shared_ptr<const tls::ServerIdentity>& identity) {
  switch (security) {
    case config::Security::kNone:
      break;
    case config::Security::kTls:
      return TlsCredentials(identity, ClientCertificate::kNotAskedFor);
    case config::Security::kMutualTls:
      return TlsCredentials(identity, ClientCertificate::kRequired);
  }
  return grpc::InsecureServerCredentials();
}

// Reflection is given to all servers of a process, and its library may give it when it is linked.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == kReflection; });
  }

 private:
  static constexpr char kReflection[] = "proto_server_reflection";
};

}  // namespace

struct Server::Impl {
  explicit Impl(ServiceDeps service_deps)
      : deps(std::move(service_deps)),
        grpc_log(deps.logger),
        auditor(deps.logger, deps.audit),
        gate(deps.limits, deps.access, deps.clock, auditor, deps.metrics, deps.facts.daemon_id),
        recorder(deps, auditor),
        fair_share(deps.loop, deps.clock, [this] { return deps.locks.under_way(); }),
        locks(edge),
        admin(edge, addresses) {}

  absl::Status ClaimUnixSockets(const std::vector<ListenAddress>& listen);
  absl::Status Listen(const std::vector<ListenAddress>& listen);
  absl::Status Serve(const ServerOptions& options);
  void FollowHealth();
  void Accept(size_t connections_max);

  const ServiceDeps deps;
  GrpcLogRedirect grpc_log;
  Auditor auditor;
  Gate gate;
  CallRecorder recorder;
  FairShare fair_share;
  const Edge edge{deps, gate, recorder, auditor, fair_share};
  LockService locks;
  AdminService admin;
  std::vector<std::unique_ptr<UnixSocketClaim>> unix_sockets;
  std::vector<ListenAddress> addresses;
  std::vector<ListeningSocket> listening;  // Until they are accepted on.
  // Each kind of security has its own way into gRPC.
  std::map<config::Security, std::shared_ptr<grpc::ServerCredentials>> credentials;
  std::map<config::Security, std::unique_ptr<Connections>> connections;
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
    for (os::Descriptor& socket : listener->sockets) {
      listening.push_back({std::move(socket), address.security});
    }
  }
  return absl::OkStatus();
}

absl::Status Server::Impl::Serve(const ServerOptions& options) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  if (deps.reflection) {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  } else {
    builder.SetOption(std::make_unique<WithoutReflection>());
  }
  ApplyServerSettings(builder);
  if (deps.max_connection_age > core::Millis(0)) {
    // Without a grace: it would cut acquires that wait, and sessions, which are asked to move.
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               static_cast<int>(deps.max_connection_age.count()));
  }
  if (options.request_memory_max > 0) {
    builder.SetResourceQuota(grpc::ResourceQuota("requests").Resize(options.request_memory_max));
  }
  builder.RegisterService(&locks);
  builder.RegisterService(&admin);
  for (const ListeningSocket& each : listening) {
    if (connections.contains(each.security)) continue;
    auto& kept = credentials[each.security] = CredentialsFor(each.security, options.identity);
    connections[each.security] = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, kept);
  }
  server = builder.BuildAndStart();
  if (server == nullptr) return {absl::StatusCode::kUnavailable, "gRPC cannot start"};
  return absl::OkStatus();
}

void Server::Impl::Accept(size_t connections_max) {
  acceptor.emplace(
      std::move(listening), connections_max,
      [this](int socket, config::Security security) {
        Connections::NewConnectionParameters connection;
        connection.fd = socket;
        connections.at(security)->HandleNewConnection(&connection);
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
    const std::vector<config::ListenAddress>& listen, ServiceDeps deps,
    const ServerOptions& options) {
  auto impl = std::make_unique<Impl>(std::move(deps));
  if (auto status = impl->ClaimUnixSockets(listen); !status.ok()) return status;
  if (auto status = impl->Listen(listen); !status.ok()) return status;
  if (auto status = impl->Serve(options); !status.ok()) return status;
  impl->FollowHealth();
  impl->Accept(options.connections_max);
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
