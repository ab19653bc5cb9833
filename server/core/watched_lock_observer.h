// SPDX-License-Identifier: Apache-2.0
//
// Lets those who watch locks hear of what the domain notifies, besides another observer.
#pragma once

#include <string_view>
#include <utility>

#include "core/forwarding_lock_observer.h"
#include "core/lock_watches.h"

namespace lockkeeper::core {

// Thread-safety: as LockObserver. Lifetime: borrows both.
class WatchedLockObserver final : public ForwardingLockObserver {
 public:
  WatchedLockObserver(LockObserver& next, LockWatches& watches)
      : ForwardingLockObserver(next), watches_(watches) {}

  void OnWaitBegan(const AcquireRequest& request, int32_t position) override {
    if (IsWatched(request.name)) {
      LockEvent event = EventOf(LockEventKind::kWaiting, request);
      event.position = position;
      watches_.OnEvent(std::move(event));
    }
    ForwardingLockObserver::OnWaitBegan(request, position);
  }
  bool IsWatched(std::string_view lock_name) const override { return watches_.Wants(lock_name); }
  void OnEvent(LockEvent event) override { watches_.OnEvent(std::move(event)); }

 private:
  LockWatches& watches_;
};

}  // namespace lockkeeper::core
