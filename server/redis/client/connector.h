// SPDX-License-Identifier: Apache-2.0
//
// Makes one connected socket: resolves the name, then tries one address after the other, each for
// its share of the time. Done here and not by hiredis because hiredis resolves names on the loop's
// thread, tries one address only, and lets the children of the daemon inherit the socket.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/executor.h"
#include "loop/event_loop.h"
#include "loop/resolver.h"
#include "loop/socket_watcher.h"
#include "os/descriptor.h"
#include "redis/client/redis_url.h"

namespace lockkeeper::redis {

struct ConnectorOptions {
  core::Millis connect_timeout{};     // For all addresses together.
  core::Millis unacknowledged_max{};  // TCP_USER_TIMEOUT of the socket.
};

// The socket, non-blocking, or why there is none: "connect to 127.0.0.1:6379: Connection refused".
using Connected = std::variant<os::Descriptor, std::string>;

// Completion: `done` runs once, on the loop's thread, after the constructor returned, unless the
// connector is destroyed before; `done` may destroy it.
// Thread-safety: loop-thread only. Lifetime: borrows the loop.
class Connector {
 public:
  using Done = absl::AnyInvocable<void(Connected) &&>;

  Connector(loop::EventLoop& loop, const RedisUrl& url, ConnectorOptions options, Done done);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

 private:
  void OnResolved(loop::Resolved resolved);
  void TryNext();
  void OnWritable();
  void OnTimeout();
  void OnFailed(int error);
  std::string NameOf(const loop::SocketAddress& address) const;
  void Finish(Connected result);

  loop::EventLoop& loop_;
  const RedisUrl url_;
  const ConnectorOptions options_;
  const core::Instant deadline_;
  Done done_;

  std::unique_ptr<loop::Resolver> resolver_;
  std::vector<loop::SocketAddress> addresses_;
  size_t next_address_ = 0;
  std::string last_problem_;
  os::Descriptor socket_;
  std::unique_ptr<loop::SocketWatcher> watcher_;
  std::unique_ptr<core::Timer> timer_;
};

}  // namespace lockkeeper::redis
