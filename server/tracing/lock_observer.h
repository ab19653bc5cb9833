// SPDX-License-Identifier: Apache-2.0
//
// The waits of acquires that are traced, as spans, besides what another observer makes of the
// events of the domain.
#pragma once

#include <string_view>
#include <unordered_map>

#include "core/forwarding_lock_observer.h"
#include "core/trace.h"
#include "tracing/tracer.h"

namespace lockkeeper::tracing {

// Thread-safety: loop-thread only. Lifetime: borrows both arguments.
class TracedLockObserver final : public core::ForwardingLockObserver {
 public:
  TracedLockObserver(core::LockObserver& next, Tracer& tracer)
      : ForwardingLockObserver(next), tracer_(tracer) {}

  void OnWaitBegan(const core::AcquireRequest& request, int32_t position) override;
  void OnWaitEnded(std::string_view lock_name, const core::Keeper& keeper, core::WaitEnd end,
                   core::Micros waited) override;

 private:
  struct Wait {
    core::TraceRef trace;
    Span span;
  };

  Tracer& tracer_;
  std::unordered_map<core::Keeper, Wait, core::HashOfHexId> waits_;  // Of traced acquires.
};

}  // namespace lockkeeper::tracing
