// SPDX-License-Identifier: Apache-2.0
//
// What an HTTP client sends, over a real connection. The server goes on to answer others.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "fuzz/target.h"
#include "http/endpoints.h"
#include "http/http_server.h"
#include "os/descriptor.h"
#include "support/process/http_get.h"
#include "support/system_clock.h"
#include "support/telemetry/recorded_log.h"

namespace lockkeeper {
namespace {

class Server {
 public:
  const config::ListenAddress& address() const { return server_->address(); }

 private:
  const support::SystemClock clock_;
  support::RecordedLog log_;
  telemetry::Metrics metrics_{"1.0", "abc"};
  telemetry::HealthBoard health_{log_.logger(), metrics_};
  const std::unique_ptr<http::HttpServer> server_ =
      http::HttpServer::Start({}, http::OperatingPages(health_, metrics_, clock_), clock_,
                              log_.logger())
          .value();
};

// Sends `bytes`, ends the client's side and reads what is answered. Does not wait long: the server
// may wait for more until the connection is idle for too long.
void Exchange(const config::ListenAddress& address, std::string_view bytes) {
  const os::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = 0, .tv_usec = 5'000};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(address.port);
  inet_pton(AF_INET, address.host.c_str(), &target.sin_addr);
  const int connected = connect(socket.get(), reinterpret_cast<sockaddr*>(&target), sizeof(target));
  if (connected != 0 && errno == EINTR) return;  // The fuzzer has timers.
  fuzz::Require(connected == 0, "the server accepts connections");
  send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  shutdown(socket.get(), SHUT_WR);
  std::array<char, 4096> buffer;
  while (recv(socket.get(), buffer.data(), buffer.size(), 0) > 0) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const kServer = new Server;
  static uint64_t inputs = 0;
  Exchange(kServer->address(), fuzz::TextOf(data, size));
  if (inputs++ % 256 == 0) {
    fuzz::Require(support::HttpGet(kServer->address().ToString(), "/healthz").status == 200,
                  "others are answered");
  }
  return 0;
}

}  // namespace lockkeeper
