// SPDX-License-Identifier: Apache-2.0
//
// The locks at this daemon that were waited for most lately: each wait in line counts when it ends,
// however it ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/forwarding_lock_observer.h"
#include "core/types.h"
#include "telemetry/heavy_hitters.h"

namespace lockkeeper::telemetry {

enum class ContendedOrder { kWaits, kWaited };

struct ContendedLock {
  std::string name;
  int64_t waits = 0;       // 0: fewer than those that are known.
  core::Micros waited{0};  // Of all waits together. 0: less than what is known.
};

struct ContendedLockList {
  std::vector<ContendedLock> locks;  // The most contended first.
  core::Micros window{0};            // The figures are of so much time, up to now.
  bool is_exact = true;  // False: there were more locks than counters (heavy_hitters.h).
};

// Counts in two periods, of which the older one is forgotten when the newer one is over: the
// figures are of the last one to two periods. Takes some 100 KB if names are short, and 1 MB at
// most.
//
// Thread-safety: as LockObserver. Lifetime: borrows `next` and `clock`.
class ContendedLocks final : public core::ForwardingLockObserver {
 public:
  static constexpr size_t kCounters = 256;  // Of each order.
  static constexpr std::chrono::minutes kPeriod{5};

  ContendedLocks(core::LockObserver& next, const core::Clock& clock);

  void OnWaitEnded(std::string_view lock_name, const core::Keeper& keeper, core::WaitEnd end,
                   core::Micros waited) override;

  // At most `limit` of the locks that `shows` lets through.
  ContendedLockList Most(ContendedOrder order, size_t limit,
                         const std::function<bool(std::string_view lock_name)>& shows);

 private:
  struct Period {
    core::Instant begin;
    HeavyHitters waits{kCounters};
    HeavyHitters waited{kCounters};  // In microseconds.

    void Restart(core::Instant now);
  };

  // Begins a new period if it is time.
  void Turn();

  const core::Clock& clock_;
  Period current_;
  Period previous_;
};

}  // namespace lockkeeper::telemetry
