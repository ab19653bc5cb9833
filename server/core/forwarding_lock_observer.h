// SPDX-License-Identifier: Apache-2.0
//
// An observer before another one, which hears of everything that this one does not keep to itself.
#pragma once

#include <string_view>
#include <utility>

#include "core/lock_observer.h"

namespace lockkeeper::core {

// Thread-safety: as LockObserver. Lifetime: borrows the next one.
class ForwardingLockObserver : public LockObserver {
 public:
  explicit ForwardingLockObserver(LockObserver& next) : next_(next) {}

  void OnWithdrawalEnded(std::string_view lock_name, WithdrawalEnd end) override {
    next_.OnWithdrawalEnded(lock_name, end);
  }
  void OnWaitBegan(const AcquireRequest& request, int32_t position) override {
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
  bool IsWatched(std::string_view lock_name) const override { return next_.IsWatched(lock_name); }
  void OnEvent(LockEvent event) override { next_.OnEvent(std::move(event)); }

 private:
  LockObserver& next_;
};

}  // namespace lockkeeper::core
