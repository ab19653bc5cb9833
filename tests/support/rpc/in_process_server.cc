// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/in_process_server.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <stdexcept>
#include <utility>

namespace lockkeeper::support {

InProcessServer::InProcessServer() {
  auto server = rpc::Server::Start({{.path = directory_.Path("grpc.sock")}}, Deps());
  if (!server.ok()) throw std::runtime_error(std::string(server.status().message()));
  server_ = std::move(*server);
}

InProcessServer::~InProcessServer() {
  server_->Shutdown(core::Millis(0));
  loop_.Stop();
}

rpc::ServiceDeps InProcessServer::Deps() {
  return {
      .loop = loop_,
      .locks = locks(),
      .admin = store_,
      .watches = watches_,
      .contended = contended_,
      .clock = loop_,
      .access = access_,
      .limits = limits_,
      .health = health_,
      .metrics = metrics_,
      .logger = {log_, "rpc"},
      .facts = {.version = "1.2.3",
                .daemon_id = kTestDaemonId,
                .started = {1'700'000'000'000'000},
                .store_kind = "redis",
                .store_address = "127.0.0.1:6379",
                .record_retention = core::Millis(300'000),
                .started_at = started_at_,
                .http_address = "127.0.0.1:7601",
                .store_settings = {{"store.key_prefix", "lk:"}}},
      .daemon = view_,
      .ask_to_stop = [this] { ++asked_to_stop_; },
  };
}

std::shared_ptr<grpc::Channel> InProcessServer::NewChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(server_->addresses().front().ToString(),
                                   grpc::InsecureChannelCredentials(), arguments);
}

size_t InProcessServer::Outstanding() {
  size_t outstanding = 0;
  loop_.RunAndWait([&] { outstanding = locks().outstanding(); });
  return outstanding;
}

}  // namespace lockkeeper::support
