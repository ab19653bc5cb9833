// SPDX-License-Identifier: Apache-2.0
//
// A connection of its own for the messages on some channels, since Redis takes hardly any commands
// on a connection that subscribes. It is made anew when it breaks; a node without it is still
// reachable, because whoever listens also polls.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/backoff.h"
#include "loop/event_loop.h"
#include "redis/client/connection.h"
#include "redis/client/reconnecting_connection.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only. Lifetime: borrows the loop.
class Subscription final : private ReconnectingConnection::Listener {
 public:
  using Listener = std::function<void(std::string_view channel, std::string_view message)>;

  // Begins to connect. `listener` runs on the loop's thread, until Close().
  Subscription(loop::EventLoop& loop, ConnectionOptions options, loop::Backoff backoff,
               std::vector<std::string> channels, Listener listener);

  // See ReconnectingConnection.
  void MoveTo(const RedisUrl& url, const StoreProblem& why) { connection_.MoveTo(url, why); }

  void Close() { connection_.Close(); }

 private:
  void OnReady(ReconnectingConnection& connection, const ServerFacts& facts) override;
  void OnDown(ReconnectingConnection&, Before) override {}

  const std::vector<std::string> channels_;
  ReconnectingConnection connection_;
};

}  // namespace lockkeeper::redis
