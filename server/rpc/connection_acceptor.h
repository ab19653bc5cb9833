// SPDX-License-Identifier: Apache-2.0
//
// Accepts the connections of clients and hands them to gRPC. gRPC 1.51 could accept them itself,
// but has no limit, and never accepts again once the process has run out of descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "listen/accept_loop.h"
#include "os/descriptor.h"
#include "rpc/flood_watch.h"
#include "rpc/open_connections.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-compatible. Lifetime: borrows `clock`, and what `metrics` and `logger`
// borrow.
class ConnectionAcceptor {
 public:
  // Owns the socket from then on. Called on the acceptor's thread.
  using HandOver = std::function<void(int socket)>;
  // How many calls the services have and have not finished yet.
  using CountCalls = std::function<int64_t()>;

  // Accepts on `listening`, whose sockets do not block. `connections_max` are open at a time at
  // most, and fewer if the process may not have so many descriptors. Beyond it those that have sent
  // the least are closed, and new ones as they come until there is room.
  ConnectionAcceptor(std::vector<os::Descriptor> listening, size_t connections_max,
                     HandOver hand_over, CountCalls count_calls, const core::Clock& clock,
                     telemetry::Metrics& metrics, telemetry::Logger logger);
  // Accepts nothing more, and closes the listening sockets.
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

 private:
  void Accept(os::Descriptor socket);
  void MakeRoom();
  void EndFloods();
  void ReturnMemory();

  const size_t connections_max_;
  const HandOver hand_over_;
  const CountCalls count_calls_;
  const core::Clock& clock_;
  const telemetry::Logger logger_;
  const telemetry::Counter closed_;
  const telemetry::Counter closed_for_flood_;
  telemetry::LogLimit log_limit_;
  telemetry::LogLimit flood_limit_;
  OpenConnections open_;
  FloodWatch floods_;
  core::Instant room_from_ = core::Instant::min();  // Not before: MakeRoom looks at all of them.
  core::Instant look_from_ = core::Instant::min();  // The same for floods.
  std::optional<core::Instant> return_memory_at_;
  listen::AcceptLoop loop_;  // Last: its thread uses all of the above.
};

}  // namespace lockkeeper::rpc
