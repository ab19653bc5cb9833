// SPDX-License-Identifier: Apache-2.0
//
// The gRPC server: both services, health and reflection, on any number of addresses, each with or
// without TLS. The only header of this folder that the daemon needs; it shows nothing of gRPC.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "config/listen_address.h"
#include "core/limits.h"
#include "core/types.h"
#include "rpc/service_deps.h"
#include "tls/server_identity.h"

namespace lockkeeper::rpc {

struct ServerOptions {
  size_t connections_max = core::limits::kConnectionsDefault;
  // Bytes that gRPC may take for all calls together. 0: no limit.
  size_t request_memory_max = 0;
  // Needed if an address has TLS; its authorities, if one has mutual TLS.
  std::shared_ptr<const tls::ServerIdentity> identity{};
};

// Health names that are served besides the services' own: "" and "store". All say SERVING while
// `deps.health` does.
//
// Thread-safety: thread-compatible. Lifetime: borrows what `deps` borrows.
class Server {
 public:
  // Errors: UNAVAILABLE; the message names the address on which the server cannot listen.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const std::vector<config::ListenAddress>& listen, ServiceDeps deps,
      const ServerOptions& options = {});

  // Shuts down at once, cancelling what is in flight.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The addresses on which it listens, in the order of the settings, with the ports that the system
  // chose.
  const std::vector<config::ListenAddress>& addresses() const;

  // Answers SERVER_DRAINING from now on, waits at most `grace` until the calls in flight are
  // answered, then cancels the others and closes all connections. Returns when all calls have
  // ended, so the loop must keep running. Removes the files of its unix sockets.
  void Shutdown(core::Millis grace);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace lockkeeper::rpc
