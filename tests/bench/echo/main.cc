// SPDX-License-Identifier: Apache-2.0
//
// An echo over gRPC's callback API with the daemon's server settings, and nothing else: what a
// unary call costs if there were no locks. Another one is answered by an event loop like the
// daemon's: what it costs if there were no Redis. Prints `ready ADDRESS`; ends on SIGTERM.
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "echo/echo.grpc.pb.h"
#include "loop/event_loop.h"
#include "rpc/server_settings.h"
#include "support/process/read_text.h"

namespace lockkeeper::bench {
namespace {

class EchoServer final : public EchoService::CallbackService {
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const EchoRequest* request,
                                 EchoResponse* response) override {
    response->set_payload(request->payload());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* EchoByThread(grpc::CallbackServerContext* context,
                                         const EchoRequest* request,
                                         EchoResponse* response) override {
    response->set_payload(request->payload());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    loop_.Post([reactor] { reactor->Finish(grpc::Status::OK); });
    return reactor;
  }

  loop::EventLoop loop_{"echo"};
};

struct TlsFiles {
  std::string ca;
  std::string certificate;
  std::string key;
};

// Mutual TLS, or nothing without files.
std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const TlsFiles& files) {
  if (files.ca.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = support::ReadText(files.ca);
  options.pem_key_cert_pairs = {
      {support::ReadText(files.key), support::ReadText(files.certificate)}};
  return grpc::SslServerCredentials(options);
}

}  // namespace
}  // namespace lockkeeper::bench

// An exception ends it with what it says.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  std::string host = "127.0.0.1";
  CLI::App app("Echoes payloads over gRPC");
  app.add_option("--host", host, "Where to listen, on a port that the system chooses");
  lockkeeper::bench::TlsFiles tls;
  app.add_option("--tls-ca", tls.ca, "PEM file: clients show a certificate of this CA");
  app.add_option("--tls-cert", tls.certificate);
  app.add_option("--tls-key", tls.key);
  CLI11_PARSE(app, argc, argv);

  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // As the daemon.

  // Before gRPC makes its threads, which inherit it.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);

  lockkeeper::bench::EchoServer service;
  grpc::ServerBuilder builder;
  lockkeeper::rpc::ApplyServerSettings(builder);
  builder.RegisterService(&service);
  int port = 0;
  builder.AddListeningPort(host + ":0", lockkeeper::bench::CredentialsOf(tls), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "bench_echo_server: cannot listen on " << host << "\n";
    return 1;
  }
  std::cout << "ready " << host << ":" << port << "\n" << std::flush;
  int signal = 0;
  sigwait(&stop, &signal);
  server->Shutdown();
  return 0;
}
