// SPDX-License-Identifier: Apache-2.0
//
// A Redis Cluster: its primaries behind pools of connections, and for each part of a store the node
// that leads to whoever serves the part's slot now. The servers are asked once a second where the
// slots are, and when one of them says that a slot has moved.
//
// Source: the Redis Cluster specification; docs/adr/0028 for what the parts are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loop/event_loop.h"
#include "redis/client/node_observer.h"
#include "redis/client/redis_node.h"
#include "redis/client/redis_url.h"
#include "redis/cluster/cluster_view.h"

namespace lockkeeper::redis {

struct ClusterOptions {
  std::vector<RedisUrl> servers;  // That are asked first, with our credentials. At least one.
  RedisNodeOptions node;          // Of each primary, but for its address.
  core::Millis ask_interval{1'000};
  core::Millis answer_lifetime{5'000};  // What a server said counts for so long.
};

// Hears what becomes of the Cluster. Thread-safety: called on the loop's thread; must not block.
class ClusterObserver : public NodeObserver {
 public:
  // Of so many primaries that are known, so many are connected. Each time that one of both changes.
  virtual void OnPrimaries(size_t connected, size_t known) = 0;

  // So many parts of the store are served by other servers than before.
  virtual void OnPartsMoved(size_t parts) = 0;
};

// Thread-safety: loop-thread only. Lifetime: borrows the loop and the observer. Build it and
// destroy it on the loop's thread, and Close() it before anything that its callbacks touch is
// destroyed.
class Cluster {
 public:
  // Begins to connect.
  Cluster(loop::EventLoop& loop, ClusterOptions options, ClusterObserver& observer);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Where part `number` of the store is, 0 to kClusterParts - 1. Its calls fail at once while no
  // server is known to serve its slot. Subscribe() has to come in the turn in which the Cluster is
  // built.
  Node& part(size_t number);

  // The beginning of all keys and channels of that part.
  std::string PrefixOfPart(size_t number) const;

  // Of the primaries that serve parts. Reachable if one of them is: the others' locks wait.
  const NodeHealth& health() const { return health_; }
  void SetHealthListener(NodeHealthListener listener) { health_listener_ = std::move(listener); }

  // Ends all connections. What is pending is answered inside this call.
  void Close();

 private:
  class Part;
  class Seed;
  struct Server;

  // What somebody said last, and whether a question to them is under way.
  struct Said {
    std::optional<ClusterView> view;
    core::Instant at;
    std::string refusal;  // The last answer, if it was an error.
    bool asking = false;
  };

  void Tick();
  void AskAll();
  void AskAllLater(core::Instant::duration pause);
  void OnSaid(Said& said, const RedisUrl& asked, const absl::StatusOr<Reply>& reply);
  void DecideSoon();
  void Decide();
  Server& ServerAt(const std::string& host, uint16_t port);
  void OnMoved(Part& part, const Redirection& to);
  void OnMessage(const Server& from, std::string_view channel, std::string_view message);
  bool HasPrimary(std::string_view run_id) const;
  std::string KeyAt(const Server& server) const;
  NodeHealth ComputeHealth() const;
  void UpdateHealth();

  loop::EventLoop& loop_;
  const ClusterOptions options_;
  ClusterObserver& observer_;
  NodeHealth health_;
  NodeHealthListener health_listener_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::unordered_map<std::string, Part*> by_channel_;
  std::vector<std::unique_ptr<Seed>> seeds_;
  std::map<std::string, std::unique_ptr<Server>> servers_;  // By address.
  size_t next_server_ = 0;
  std::pair<size_t, size_t> primaries_told_;
  core::Instant asked_at_;
  bool decision_scheduled_ = false;
  bool closed_ = false;
  std::unique_ptr<core::Timer> timer_;
  std::unique_ptr<core::Timer> ask_timer_;  // Of a question that has to wait; null without one.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::redis
