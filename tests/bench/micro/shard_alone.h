// SPDX-License-Identifier: Apache-2.0
//
// A shard of the daemon without threads and sockets: the domain, the store on Redis and its queue
// of operations, on a node that grants everything.
#pragma once

#include "bench/micro/prompt_node.h"
#include "core/lock_manager.h"
#include "core/lock_observer.h"
#include "redis/guard/node_guard.h"
#include "redis/guard/token_floor.h"
#include "redis/operation_queue.h"
#include "redis/redis_lock_store.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"
#include "support/silent_guard_observer.h"

namespace lockkeeper::bench {

// Thread-safety: not thread-safe.
class ShardAlone {
 public:
  // Without its guard it is a shard that would not notice that its store forgets.
  enum class Guard { kOn, kOff };

  explicit ShardAlone(Guard guard = Guard::kOn) : guard_used_(guard == Guard::kOn) {}

  core::LockManager& locks() { return locks_; }
  redis::OperationQueue& queue() { return queue_; }
  const core::Clock& clock() const { return clock_; }

  // Goes on until nothing is left to do.
  void RunTurns() {
    do executor_.RunUntilIdle();
    while (node_.AnswerAll());
  }

 private:
  class Nobody final : public core::LockObserver {
    void OnWithdrawalEnded(std::string_view, core::WithdrawalEnd) override {}
    void OnExpiredLeaseReplaced(std::string_view, core::FencingToken) override {}
    void OnInvariantViolated(std::string_view) override {}
  };

  redis::NodeGuard* guard_in_use() { return guard_used_ ? &guard_ : nullptr; }

  const bool guard_used_;
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PromptNode node_{guard_used_ ? size_t{1} : 0};  // The marker.
  redis::TokenFloor token_floor_;
  support::SilentGuardObserver guard_observer_;
  redis::NodeGuard guard_{node_,        clock_,          executor_,
                          token_floor_, guard_observer_, redis::NodeGuardOptions{}};
  redis::OperationQueue queue_{node_, clock_, executor_, token_floor_, {}, guard_in_use()};
  redis::RedisLockStore store_{
      node_, queue_, token_floor_, clock_, {.daemon_id = "0123456789abcdef"}, guard_in_use()};
  Nobody observer_;
  core::LockManager locks_{store_, clock_, executor_, observer_, {}};
};

}  // namespace lockkeeper::bench
