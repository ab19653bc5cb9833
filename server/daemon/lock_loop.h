// SPDX-License-Identifier: Apache-2.0
//
// The daemon's loop, and everything that lives on its thread, from the connections to Redis up to
// the lock manager.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "core/domain.h"
#include "core/lock_watches.h"
#include "core/watched_lock_observer.h"
#include "daemon/guard_telemetry.h"
#include "daemon/loop_watch.h"
#include "daemon/node_telemetry.h"
#include "loop/event_loop.h"
#include "redis/client/redis_node.h"
#include "redis/cluster/cluster.h"
#include "redis/redis_store.h"
#include "redis/sentinel/sentinel_watch.h"
#include "telemetry/contended_locks.h"
#include "telemetry/health_board.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/lock_observer.h"
#include "tracing/traced_store.h"
#include "tracing/tracer.h"

namespace lockkeeper::daemon {

struct LockLoopOptions {
  redis::RedisNodeOptions node;
  std::optional<redis::SentinelOptions> sentinels;  // That say where the node is.
  // Of a Cluster, which are asked where the others are; each primary is like `node`. Empty unless
  // the store is one.
  std::vector<redis::RedisUrl> cluster;
  redis::RedisStoreOptions store;
  core::LockManagerOptions locks;
};

// Lifetime: outlives the loop.
struct LockLoopDeps {
  core::LockObserver& lock_observer;
  telemetry::HealthBoard& health;
  telemetry::Metrics& metrics;
  telemetry::Log& log;
  tracing::Tracer* tracer = nullptr;  // Null: nothing is traced.
};

// Thread-safety: thread-safe, but not from the loop's own thread.
class LockLoop {
 public:
  // Begins to connect.
  LockLoop(const LockLoopOptions& options, const LockLoopDeps& deps);
  // Requires: nothing is posted to the loop any more.
  ~LockLoop();
  LockLoop(const LockLoop&) = delete;
  LockLoop& operator=(const LockLoop&) = delete;

  loop::EventLoop& loop() { return loop_; }
  // Of the loop's thread: post to it first.
  core::LockManager& locks() { return domain_->locks(); }
  core::AdminStore& admin() { return store_->admin(); }
  redis::Store& store() { return *store_; }
  core::LockWatches& watches() { return *watches_; }
  telemetry::ContendedLocks& contended() { return *contended_; }

  // What came of the first try to reach the store: reachable, refused or away. Nothing if that is
  // not known after `limit`. A refusal is not logged then: it ends the start, and whoever starts
  // tells it.
  std::optional<redis::NodeHealth> WaitForFirstContact(core::Millis limit);

  // Calls `beat` on the loop's thread, now and then once each `period`: who stops hearing it knows
  // that the loop is stuck. Call it once at most.
  void StartBeat(core::Micros period, std::function<void()> beat);

  // Acquires answer SERVER_DRAINING from now on.
  void StartDraining();

  // Waits until no operation and no withdrawal is outstanding, at most until `deadline` on the
  // loop's clock. Answers how many are.
  size_t WaitUntilIdle(core::Instant deadline);

 private:
  struct IdleWatch;

  void OpenNode(const LockLoopOptions& options);
  void OpenCluster(const LockLoopOptions& options);
  void OpenDomain(const LockLoopOptions& options, const LockLoopDeps& deps);
  void OnHealth(const redis::NodeHealth& health);
  void CheckIdle(std::shared_ptr<IdleWatch> watch);
  void MeasureLag(core::Instant due);
  void Beat();

  telemetry::HealthBoard& health_;
  const telemetry::Histogram lag_;
  LoopWatch watch_;
  loop::EventLoop loop_;
  std::future<redis::NodeHealth> first_contact_;

  // Owned by the loop's thread.
  NodeTelemetry node_telemetry_;
  GuardTelemetry guard_telemetry_;
  std::unique_ptr<redis::RedisNode> node_;           // Null in a Cluster.
  std::unique_ptr<redis::SentinelWatch> sentinels_;  // Null without Sentinels.
  std::unique_ptr<redis::Cluster> cluster_;          // Null unless the store is one.
  std::unique_ptr<redis::Store> store_;
  std::optional<telemetry::ContendedLocks> contended_;
  std::unique_ptr<core::LockWatches> watches_;
  std::unique_ptr<core::WatchedLockObserver> watched_observer_;
  // Between the domain and the store, and what observes the domain. Nothing if nothing is traced.
  std::optional<tracing::TracedStore> traced_store_;
  std::optional<tracing::TracedLockObserver> traced_observer_;
  std::unique_ptr<core::Domain> domain_;
  std::optional<std::promise<redis::NodeHealth>> contact_;  // Until it is kept.
  bool is_starting_ = true;                                 // Somebody may wait for it.
  std::unique_ptr<core::Timer> lag_timer_;
  core::Micros beat_period_{0};
  std::function<void()> beat_;
  std::unique_ptr<core::Timer> beat_timer_;
};

}  // namespace lockkeeper::daemon
