// SPDX-License-Identifier: Apache-2.0
//
// The domain, the store on Redis and its queue of operations, on a node that grants everything: no
// threads and no sockets.
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
#include "support/trusting_guard.h"

namespace lockkeeper::bench {

// Thread-safety: not thread-safe.
class DomainAlone {
 public:
  // Whether losses of the store would be noticed.
  enum class Guard { kOn, kOff };

  explicit DomainAlone(Guard guard = Guard::kOn)
      : guard_(guard == Guard::kOn ? static_cast<redis::StoreGuard&>(node_guard_) : trusting_) {}

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

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PromptNode node_;
  redis::TokenFloor token_floor_;
  support::SilentGuardObserver guard_observer_;
  redis::NodeGuard node_guard_{node_,        clock_,          executor_,
                               token_floor_, guard_observer_, redis::NodeGuardOptions{}};
  support::TrustingGuard trusting_{token_floor_};
  redis::StoreGuard& guard_;
  redis::OperationQueue queue_{node_, guard_, clock_, executor_, token_floor_, {}};
  redis::RedisLockStore store_{node_,        guard_, queue_,
                               token_floor_, clock_, {.daemon_id = "0123456789abcdef"}};
  Nobody observer_;
  core::LockManager locks_{store_, clock_, executor_, observer_, {}};
};

}  // namespace lockkeeper::bench
