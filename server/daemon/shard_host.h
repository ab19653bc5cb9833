// SPDX-License-Identifier: Apache-2.0
//
// One shard of the daemon: its event loop, and everything that lives on the loop's thread, from the
// connections to Redis up to the lock manager.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "core/lock_manager.h"
#include "core/shard.h"
#include "daemon/guard_telemetry.h"
#include "daemon/node_telemetry.h"
#include "loop/event_loop.h"
#include "redis/client/redis_node.h"
#include "redis/guard/node_guard.h"
#include "redis/guard/token_floor.h"
#include "redis/operation_queue.h"
#include "redis/redis_admin_store.h"
#include "redis/redis_lock_store.h"
#include "telemetry/health_board.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::daemon {

struct ShardOptions {
  size_t number = 0;
  redis::RedisNodeOptions node;
  std::optional<redis::NodeGuardOptions> guard;  // Nothing: no losses are noticed.
  redis::OperationQueueOptions queue;
  redis::RedisLockStoreOptions store;
  core::LockManagerOptions locks;
};

// What all shards share. Lifetime: outlives the shards.
struct ShardDeps {
  redis::TokenFloor& token_floor;
  core::LockObserver& lock_observer;
  telemetry::HealthBoard& health;
  telemetry::Metrics& metrics;
  telemetry::Log& log;
};

// Thread-safety: thread-safe, but not from the shard's own thread.
class ShardHost {
 public:
  // Begins to connect.
  ShardHost(const ShardOptions& options, const ShardDeps& deps);
  // Requires: nothing is posted to the shard any more.
  ~ShardHost();
  ShardHost(const ShardHost&) = delete;
  ShardHost& operator=(const ShardHost&) = delete;

  // Valid as long as this object.
  core::Shard shard() { return {loop_, *locks_, *admin_}; }
  loop::EventLoop& loop() { return loop_; }

  // What came of the first try to reach the store: reachable, refused or away. Nothing if that is
  // not known after `limit`. A refusal is not logged then: it ends the start, and whoever starts
  // tells it.
  std::optional<redis::NodeHealth> WaitForFirstContact(core::Millis limit);

  // Acquires answer SERVER_DRAINING from now on.
  void StartDraining();

  // Waits until no operation and no withdrawal is outstanding, at most until `deadline` on the
  // loop's clock. Answers how many are.
  size_t WaitUntilIdle(core::Instant deadline);

 private:
  struct IdleWatch;

  void OnHealth(const redis::NodeHealth& health);
  void CheckIdle(std::shared_ptr<IdleWatch> watch);
  void MeasureLag(core::Instant due);

  const size_t number_;
  telemetry::HealthBoard& health_;
  const telemetry::Histogram lag_;
  loop::EventLoop loop_;
  std::future<redis::NodeHealth> first_contact_;

  // Owned by the loop's thread.
  NodeTelemetry node_telemetry_;
  GuardTelemetry guard_telemetry_;
  std::unique_ptr<redis::RedisNode> node_;
  std::unique_ptr<redis::NodeGuard> guard_;
  std::unique_ptr<redis::OperationQueue> queue_;
  std::unique_ptr<redis::RedisLockStore> store_;
  std::unique_ptr<redis::RedisAdminStore> admin_;
  std::unique_ptr<core::LockManager> locks_;
  std::optional<std::promise<redis::NodeHealth>> contact_;  // Until it is kept.
  bool is_starting_ = true;                                 // Somebody may wait for it.
  std::string connecting_;  // What the node says before anything is known.
  std::unique_ptr<core::Timer> lag_timer_;
};

}  // namespace lockkeeper::daemon
