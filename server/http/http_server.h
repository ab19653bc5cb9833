// SPDX-License-Identifier: Apache-2.0
//
// The HTTP side of the daemon, for probes and Prometheus; see endpoints.h for what is served. One
// thread serves all connections and waits for none: a client may be as slow as it likes, it only
// costs a place, and its place goes to a new client when there is none left.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "config/listen_address.h"
#include "core/clock.h"
#include "core/types.h"
#include "telemetry/health_board.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::http {

struct HttpServerOptions {
  // No unix socket. Port 0 lets the system choose.
  config::ListenAddress listen = {.host = "127.0.0.1", .port = 0};
  // From accepting a connection to its end.
  core::Millis connection_time_max{5'000};
  // Connections at a time; beyond it the oldest one is closed.
  size_t connections_max = 128;
};

// Lifetime: borrows its collaborators. They have to be thread-safe: a thread of the server's own
// uses them.
struct HttpServerDeps {
  const core::Clock& clock;
  const telemetry::HealthBoard& health;
  const telemetry::Metrics& metrics;
  telemetry::Logger logger;
};

// Thread-safety: thread-compatible.
class HttpServer {
 public:
  // Listens and serves.
  // Errors: UNAVAILABLE with a text for people that names the address and why.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                           HttpServerDeps deps);

  // Stops at once; connections are cut.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens, with the port that was chosen and a name resolved.
  const config::ListenAddress& address() const;

 private:
  class Loop;
  explicit HttpServer(std::unique_ptr<Loop> loop);

  const std::unique_ptr<Loop> loop_;
};

}  // namespace lockkeeper::http
