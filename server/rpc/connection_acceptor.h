// SPDX-License-Identifier: Apache-2.0
//
// Accepts the connections of clients and hands them to gRPC. gRPC 1.51 could accept them itself,
// but has no limit, and never accepts again once the process has run out of descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "config/listen_address.h"
#include "core/clock.h"
#include "listen/accept_loop.h"
#include "os/descriptor.h"
#include "rpc/flood_watch.h"
#include "rpc/handshakes.h"
#include "rpc/open_connections.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {

struct ListeningSocket {
  os::Descriptor socket;  // Not blocking.
  config::Security security;
};

// Thread-safety: thread-compatible. Lifetime: borrows `clock`, and what `metrics` and `logger`
// borrow.
class ConnectionAcceptor {
 public:
  // Owns the socket of a new connection from then on. Called on the acceptor's thread.
  using HandOver = std::function<void(int socket, config::Security security)>;
  // How many calls the services have and have not finished yet.
  using CountCalls = std::function<int64_t()>;

  // Accepts on the non-blocking sockets of `listening`. At most `connections_max` connections are
  // open at a time, fewer if the process may not have so many descriptors. Beyond that the
  // connections that have sent the least are closed, and new ones are closed at once until there is
  // room. A connection that is to speak TLS is accepted when its client has begun to, and closed if
  // that is not TLS; handshakes.h bounds how many handshakes are under way and how many begin.
  ConnectionAcceptor(std::vector<ListeningSocket> listening, size_t connections_max,
                     HandOver hand_over, CountCalls count_calls, const core::Clock& clock,
                     telemetry::Metrics& metrics, telemetry::Logger logger);
  // Accepts nothing more, and closes the listening sockets.
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

 private:
  void Accept(os::Descriptor socket, config::Security security);
  // False if the connection must be closed, since its client does not speak TLS.
  bool BeginHandshake(int socket);
  void MakeRoom();
  void EndFloods();
  core::Millis UntilNextLook() const;
  void ReturnMemory();

  const size_t connections_max_;
  const HandOver hand_over_;
  const CountCalls count_calls_;
  const core::Clock& clock_;
  const telemetry::Logger logger_;
  const telemetry::Counter closed_;
  const telemetry::Counter closed_for_flood_;
  const telemetry::Counter closed_without_tls_;
  const telemetry::Counter closed_handshakes_;
  telemetry::LogLimit log_limit_;
  telemetry::LogLimit flood_limit_;
  OpenConnections open_;
  FloodWatch floods_;
  Handshakes handshakes_;
  const std::vector<config::Security> security_;    // Of each listening socket.
  core::Instant room_from_ = core::Instant::min();  // Not before: MakeRoom looks at all of them.
  core::Instant look_from_ = core::Instant::min();  // The same for floods.
  core::Instant return_memory_from_ = core::Instant::min();
  core::Millis memory_interval_{0};
  listen::AcceptLoop loop_;  // Last: its thread uses all of the above.
};

}  // namespace lockkeeper::rpc
