// SPDX-License-Identifier: Apache-2.0
//
// A Redis server behind a pool of connections: a route is one of them. Connections that break are
// made anew; while one is down its calls fail at once, naming the problem. Whoever knows that
// another server has taken its place moves the node there.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loop/backoff.h"
#include "loop/event_loop.h"
#include "redis/client/confirmations.h"
#include "redis/client/node_observer.h"
#include "redis/client/reconnecting_connection.h"
#include "redis/client/redis_url.h"
#include "redis/client/settings_watch.h"
#include "redis/client/subscription.h"
#include "redis/client/tls_context.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

struct RedisNodeOptions {
  RedisUrl url;  // Without an address the node waits for MoveTo().
  Expected expected = Expected::kServer;
  // A primary that was replaced is used for at most so long; see NodeLife::isolation.
  core::Millis isolation_min{0};
  std::shared_ptr<const TlsContext> tls;  // Of rediss://; otherwise null.
  std::string daemon_id;   // The connections' name in CLIENT LIST is "lockkeeperd:<daemon_id>".
  std::string key_prefix;  // Of all keys and channels; the user's rights to them are asked.
  std::span<const ScriptSource> scripts;  // Loaded on each connection: AllScripts().
  size_t connections = 2;                 // 1 to 64.
  core::Millis connect_timeout{2'000};    // To resolve, connect and shake hands.
  core::Millis request_timeout{1'000};    // Longest wait for a reply; then the connection is cut.
  core::Millis probe_interval{1'000};     // An idle connection is asked whether it lives.
  core::Millis settings_interval{1'000};  // Between looks at the server's settings.
  // The least that the server has to confirm of every write, kNone, kDisk or kReplicas: while it
  // does not, setting_problem() says so.
  core::Assurance min_assurance = core::Assurance::kNone;
  int replicas = 1;  // That have to acknowledge a write for kReplicas, 1 at least.
  // The key that confirmations write, now. Empty: `key_prefix` and "confirmation".
  std::function<std::string()> confirmation_key;
  Assumptions assumed;
  loop::BackoffOptions backoff;  // Between tries to connect.
  uint64_t seed = 0;             // Of the jitter; differs between daemons.
};

// Of a connection to the node's server.
ConnectionOptions ConnectionOptionsOf(const RedisNodeOptions& options);

// Contract: see Node. Besides, a call on a connection with too much in flight is refused with
// STORE_UNAVAILABLE.
// Lifetime: borrows the loop and the observer. Build it and destroy it on the loop's thread, and
// Close() it before anything that its callbacks touch is destroyed.
class RedisNode final : public Node,
                        private ReconnectingConnection::Listener,
                        private Confirmations::Listener {
 public:
  // Begins to connect, if the URL has an address.
  RedisNode(loop::EventLoop& loop, const RedisNodeOptions& options, NodeObserver& observer);
  ~RedisNode() override;  // Close(), which answers what was called since the last one.
  RedisNode(const RedisNode&) = delete;
  RedisNode& operator=(const RedisNode&) = delete;

  Route RouteOf(std::string_view record_key) const override;
  Route AnyRoute() const override;
  void Run(Route route, const ScriptSource& script, Command command, ReplyDone done) override;
  void Send(Route route, Command command, ReplyDone done) override;
  void Subscribe(const std::string& channel, MessageListener listener) override;
  const NodeLife& life(Route route) const override;
  const std::string& setting_problem() const override { return setting_problem_; }
  core::Assurance assurance() const override { return assurance_; }
  bool MayConfirm(core::Assurance wanted) const override;
  void Confirm(Route route, core::Assurance wanted, core::Instant deadline,
               ConfirmDone done) override;

  // The node is reachable when every connection is ready. At first it is not, with the problem
  // "connecting to ...".
  const NodeHealth& health() const { return health_; }

  // `listener` hears of each change from now on.
  void SetHealthListener(NodeHealthListener listener);

  // `listener` runs whenever a connection broke or could not be made, from now on: of the pool, or
  // that of confirmations.
  void SetBrokenListener(std::function<void()> listener);

  // Ends all connections because of `why`, and connects to the server at `url`. To none if that has
  // no address. What is pending is answered inside this call. Not to be called inside a callback of
  // this node.
  void MoveTo(const RedisUrl& url, const StoreProblem& why);

  // Ends all connections. What is pending is answered inside this call, what comes later fails.
  void Close();

 private:
  struct Pooled;

  void OnReady(ReconnectingConnection& connection, const ServerFacts& facts) override;
  void OnDown(ReconnectingConnection& connection, Before before) override;
  void OnConfirmationsChanged() override { UpdateHealth(); }
  void OnConfirmationsBroken() override { broken_listener_(); }
  void OnRoundEnded(bool confirmed, core::Micros elapsed) override {
    observer_.OnConfirmationEnded(confirmed, elapsed);
  }
  void OnScriptLoadedAgain(std::string_view script) override;
  void OnScriptCallEnded(std::string_view script, ScriptCallEnd end, core::Micros elapsed) override;
  size_t IndexOf(const ReconnectingConnection& connection) const;
  ReconnectingConnection* AnyReady();
  void Learn(const ServerFacts& facts);
  Confirmations& StartConfirmations();
  // Why the server confirms less than all writes need. Empty if it does not.
  std::string ConfirmationProblem() const;
  NodeHealth ComputeHealth() const;
  void UpdateHealth();

  loop::EventLoop& loop_;
  RedisNodeOptions options_;
  NodeObserver& observer_;
  NodeHealth health_;
  NodeHealthListener health_listener_;
  std::function<void()> broken_listener_ = [] {};
  std::string setting_problem_;
  std::vector<std::unique_ptr<Pooled>> pool_;
  std::unique_ptr<Subscription> subscription_;
  std::unique_ptr<SettingsWatch> settings_watch_;
  core::Assurance assurance_ = core::Assurance::kNone;
  // Of replicas. Made when somebody first asks for them, or when the server is known if all writes
  // need them.
  std::unique_ptr<Confirmations> confirmations_;
};

}  // namespace lockkeeper::redis
