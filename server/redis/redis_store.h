// SPDX-License-Identifier: Apache-2.0
//
// The store on Redis, put together: guard, operation queue, lock store, admin store, and the
// messages that come on the daemon's channel. The daemon, the contract tests, the simulator and the
// benchmarks all build this one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/executor.h"
#include "core/limits.h"
#include "core/lock_store.h"
#include "redis/format/key_layout.h"
#include "redis/guard/guard_observer.h"
#include "redis/guard/loss_judge.h"
#include "redis/guard/node_guard.h"
#include "redis/guard/store_guard.h"
#include "redis/lease_proofs.h"
#include "redis/lease_restorer.h"
#include "redis/node/node.h"
#include "redis/operation_queue.h"
#include "redis/redis_admin_store.h"
#include "redis/redis_lock_store.h"
#include "redis/told_leases.h"
#include "redis/watch_channels.h"

namespace lockkeeper::redis {

struct RedisStoreOptions {
  // Random id of this start of the daemon, 16 hex digits: names its channel and its waiters.
  std::string daemon_id;
  KeyLayout keys{"lk:"};
  core::Millis record_retention{60'000};
  // Longest time that one question of an administrator waits for the store; a shorter rpc deadline
  // wins.
  core::Millis request_timeout{1'000};
  // Longest time between a script call and its execution: later it is not executed any more.
  core::Millis call_lifetime{2'000};
  // Waiters that the line of one lock may have.
  int32_t waiters_per_lock_max = core::limits::kWaitersPerLockDefault;
  // How long other daemons that may know an empty store have to say so before it counts as new.
  core::Millis first_use_wait{0};
  // Restores what clients were told when a replica was promoted, and ends the quarantine when all
  // daemons have.
  bool restores = false;
  JudgePolicy policy;
};

// What the daemon needs of a store on Redis, whether it is one or has several parts.
//
// Thread-safety: loop-thread only.
class Store {
 public:
  virtual ~Store() = default;

  virtual core::LockStore& locks() = 0;
  virtual core::WaitingLine& line() = 0;
  virtual core::AdminStore& admin() = 0;
  virtual core::WatchExchange& exchange() = 0;

  // A lease may last this long from now on, with its lock_delay. Call it before a client may ask
  // for one; a shorter time than before changes nothing, because leases may run that are longer.
  virtual void CoverLeases(core::Millis longest_lease) = 0;

  // Of acquires that come from now on; those that stand in line stay.
  virtual void SetWaitersPerLockMax(int32_t most) = 0;

  // All calls have ended: others need not reckon with this daemon any more. Sent at the end of the
  // turn.
  virtual void LeaveRoll() {}

  // Ends the operations that are open, inside this call: with OUTCOME_UNKNOWN if they were sent,
  // otherwise with STORE_UNAVAILABLE. Nothing may be asked of the store afterwards. Whoever waits
  // for answers must still exist.
  virtual void Close() = 0;
};

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class RedisStore final : public Store {
 public:
  // Guarded by a NodeGuard.
  RedisStore(Node& node, const core::Clock& clock, core::Executor& executor,
             GuardObserver& observer, const RedisStoreOptions& options);
  // With another guard, for tests and benchmarks of everything else.
  RedisStore(Node& node, const core::Clock& clock, core::Executor& executor,
             GuardObserver& observer, const RedisStoreOptions& options,
             std::unique_ptr<StoreGuard> guard);
  ~RedisStore() override;
  RedisStore(const RedisStore&) = delete;
  RedisStore& operator=(const RedisStore&) = delete;

  core::LockStore& locks() override { return locks_; }
  core::WaitingLine& line() override { return locks_; }
  core::AdminStore& admin() override { return admin_; }
  core::WatchExchange& exchange() override { return watches_; }
  StoreGuard& guard() { return *guard_; }
  OperationQueue& queue() { return *queue_; }
  void CoverLeases(core::Millis longest_lease) override;
  void SetWaitersPerLockMax(int32_t most) override { locks_.SetWaitersPerLockMax(most); }
  void LeaveRoll() override;
  void Close() override;

 private:
  void OnMessage(std::string_view message);

  const KeyLayout keys_;
  const std::unique_ptr<StoreGuard> guard_;
  NodeGuard* node_guard_ = nullptr;      // The same. Null if it is another guard.
  std::optional<OperationQueue> queue_;  // Until Close().
  std::optional<ToldLeases> told_;       // Nothing if nothing of it is to be restored.
  LeaseProofs proofs_;
  RedisLockStore locks_;
  RedisAdminStore admin_;
  WatchChannels watches_;
  std::optional<LeaseRestorer> restorer_;  // With `told_`, until Close().
};

}  // namespace lockkeeper::redis
