// SPDX-License-Identifier: Apache-2.0
//
// Lets those who watch locks hear of what the domain notifies, besides another observer.
#pragma once

#include <string_view>
#include <utility>

#include "core/lock_observer.h"
#include "core/lock_watches.h"

namespace lockkeeper::core {

// Thread-safety: as LockObserver. Lifetime: borrows both.
class WatchedLockObserver final : public LockObserver {
 public:
  WatchedLockObserver(LockObserver& next, LockWatches& watches) : next_(next), watches_(watches) {}

  void OnWithdrawalEnded(std::string_view lock_name, WithdrawalEnd end) override {
    next_.OnWithdrawalEnded(lock_name, end);
  }
  void OnWaitBegan(const AcquireRequest& request, int32_t position) override {
    if (IsWatched(request.name)) {
      LockEvent event = EventOf(LockEventKind::kWaiting, request);
      event.position = position;
      watches_.OnEvent(std::move(event));
    }
    next_.OnWaitBegan(request, position);
  }
  void OnWaitEnded(std::string_view lock_name, const Keeper& keeper, WaitEnd end,
                   Micros waited) override {
    next_.OnWaitEnded(lock_name, keeper, end, waited);
  }
  void OnReleased(Micros held) override { next_.OnReleased(held); }
  void OnExpiredLeaseReplaced(std::string_view lock_name, FencingToken token) override {
    next_.OnExpiredLeaseReplaced(lock_name, token);
  }
  bool IsWatched(std::string_view lock_name) const override { return watches_.Wants(lock_name); }
  void OnEvent(LockEvent event) override { watches_.OnEvent(std::move(event)); }

 private:
  LockObserver& next_;
  LockWatches& watches_;
};

}  // namespace lockkeeper::core
