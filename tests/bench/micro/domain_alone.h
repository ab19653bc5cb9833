// SPDX-License-Identifier: Apache-2.0
//
// The domain, the store on Redis and its queue of operations, on a node that grants everything: no
// threads and no sockets.
#pragma once

#include <memory>

#include "bench/micro/prompt_node.h"
#include "core/domain.h"
#include "core/lock_observer.h"
#include "redis/redis_store.h"
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

  explicit DomainAlone(Guard guard = Guard::kOn) : store_(Build(guard)) {}

  core::LockManager& locks() { return domain_.locks(); }
  redis::OperationQueue& queue() { return store_->queue(); }
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
  };

  std::unique_ptr<redis::RedisStore> Build(Guard guard) {
    const redis::RedisStoreOptions options{.daemon_id = "0123456789abcdef"};
    if (guard == Guard::kOn) {
      return std::make_unique<redis::RedisStore>(node_, clock_, executor_, guard_observer_,
                                                 options);
    }
    return std::make_unique<redis::RedisStore>(node_, clock_, executor_, guard_observer_, options,
                                               std::make_unique<support::TrustingGuard>());
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PromptNode node_;
  support::SilentGuardObserver guard_observer_;
  std::unique_ptr<redis::RedisStore> store_;
  Nobody observer_;
  core::Domain domain_{store_->locks(), &store_->line(), clock_, executor_, observer_, {}};
};

}  // namespace lockkeeper::bench
