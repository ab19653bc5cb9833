// SPDX-License-Identifier: Apache-2.0
#include "telemetry/contended_locks.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace lockkeeper::telemetry {
namespace {

auto RankOf(const ContendedLock& lock, ContendedOrder order) {
  return order == ContendedOrder::kWaits ? std::pair(lock.waits, lock.waited.count())
                                         : std::pair(lock.waited.count(), lock.waits);
}

}  // namespace

void ContendedLocks::Period::Restart(core::Instant now) {
  begin = now;
  waits.Clear();
  waited.Clear();
}

ContendedLocks::ContendedLocks(core::LockObserver& next, const core::Clock& clock)
    : ForwardingLockObserver(next),
      clock_(clock),
      current_{.begin = clock.Now()},
      previous_{.begin = clock.Now()} {}

void ContendedLocks::Turn() {
  const core::Instant now = clock_.Now();
  if (now - current_.begin < kPeriod) return;
  if (now - current_.begin < 2 * kPeriod) {
    std::swap(current_, previous_);
  } else {
    previous_.Restart(now - kPeriod);  // Nobody waited in that time.
  }
  current_.Restart(now);
}

void ContendedLocks::OnWaitEnded(std::string_view lock_name, const core::Keeper& keeper,
                                 core::WaitEnd end, core::Micros waited) {
  Turn();
  current_.waits.Add(lock_name, 1);
  current_.waited.Add(lock_name, std::max<int64_t>(waited.count(), 0));
  ForwardingLockObserver::OnWaitEnded(lock_name, keeper, end, waited);
}

ContendedLockList ContendedLocks::Most(
    ContendedOrder order, size_t limit,
    const std::function<bool(std::string_view lock_name)>& shows) {
  Turn();
  absl::flat_hash_map<std::string_view, ContendedLock> sums;
  ContendedLockList list;
  for (const Period* period : {&previous_, &current_}) {
    for (const auto& [waits, name] : period->waits.counters()) sums[name].waits += waits;
    for (const auto& [waited, name] : period->waited.counters()) {
      sums[name].waited += core::Micros(waited);
    }
    list.is_exact = list.is_exact && period->waits.is_exact();
  }
  list.window = std::chrono::duration_cast<core::Micros>(clock_.Now() - previous_.begin);
  for (auto& [name, lock] : sums) {
    if (!shows(name)) continue;
    lock.name = name;
    list.locks.push_back(std::move(lock));
  }
  const auto has_more = [order](const ContendedLock& a, const ContendedLock& b) {
    return std::pair(RankOf(b, order), std::string_view(a.name)) <
           std::pair(RankOf(a, order), std::string_view(b.name));
  };
  const size_t shown = std::min(limit, list.locks.size());
  std::partial_sort(list.locks.begin(), list.locks.begin() + static_cast<std::ptrdiff_t>(shown),
                    list.locks.end(), has_more);
  list.locks.resize(shown);
  return list;
}

}  // namespace lockkeeper::telemetry
