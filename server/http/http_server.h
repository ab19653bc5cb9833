// SPDX-License-Identifier: Apache-2.0
//
// The HTTP side of the daemon, for probes and Prometheus; endpoints.h lists its pages. One thread
// serves all connections, and never waits for a client: a slow one only costs a place. A connection
// carries one request.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/listen_address.h"
#include "core/clock.h"
#include "telemetry/log.h"
#include "tls/server_identity.h"

namespace lockkeeper::http {

// Bytes of a request's first line and headers. Prometheus sends a few hundred.
inline constexpr size_t kHeaderBytesMax = 16 * 1024;
// Bytes of a request's body, which are read and dropped; beyond it the connection is closed.
inline constexpr size_t kBodyBytesMax = 1024 * 1024;

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

struct Page {
  int status = 200;
  std::string content_type = kPlainText;
  std::string body;
};

// `page` is called on the server's thread for each GET or HEAD of exactly `path` (without a query).
struct Route {
  std::string path;
  std::function<Page()> page;
};

struct HttpServerOptions {
  // No unix socket. Port 0 lets the system choose.
  config::ListenAddress listen = {.host = "127.0.0.1", .port = 0};
  // Given if the address has TLS; with authorities, if it has mutual TLS.
  std::shared_ptr<const tls::ServerIdentity> identity{};
  // A connection on which nothing moves for this long is closed.
  std::chrono::seconds idle_time_max{5};
  // Connections at a time; beyond it the oldest one is closed.
  size_t connections_max = 128;
};

// Thread-safety: thread-compatible. Lifetime: borrows `clock`, and what `logger` borrows.
class HttpServer {
 public:
  // Listens and serves `routes`; other paths are answered 404 with the list of paths.
  // Errors: UNAVAILABLE with a text for people that names the address and why.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                           std::vector<Route> routes,
                                                           const core::Clock& clock,
                                                           telemetry::Logger logger);

  // Stops at once; connections are cut.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens, with the port that was chosen and a name resolved.
  const config::ListenAddress& address() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace lockkeeper::http
