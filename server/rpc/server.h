// SPDX-License-Identifier: Apache-2.0
//
// The gRPC server: both services, health and reflection, on any number of addresses. The only
// header of this folder that the daemon needs; it shows nothing of gRPC.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "config/listen_address.h"
#include "core/limits.h"
#include "core/types.h"
#include "rpc/service_deps.h"

namespace lockkeeper::rpc {

// Health names that are served besides the services' own: "" and "store". All say SERVING while
// `deps.health` does.
//
// Thread-safety: thread-compatible. Lifetime: borrows what `deps` borrows.
class Server {
 public:
  // Errors: UNAVAILABLE with a text for people that names the address that cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const std::vector<config::ListenAddress>& listen, ServiceDeps deps,
      size_t connections_max = core::limits::kConnectionsDefault);

  // Shuts down at once, cancelling what is in flight.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where it listens, in the order asked for, with the ports that the system chose.
  const std::vector<config::ListenAddress>& addresses() const;

  // Answers SERVER_DRAINING from now on, waits until the calls in flight are answered, at most
  // `grace`, and ends all connections. Returns when all calls are over, also those cancelled then:
  // the loop has to go on answering. Removes the files of its unix sockets.
  void Shutdown(core::Millis grace);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace lockkeeper::rpc
