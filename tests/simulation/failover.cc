// SPDX-License-Identifier: Apache-2.0
#include "simulation/failover.h"

#include <algorithm>
#include <cstdint>

namespace lockkeeper::simulation {
namespace {

using Before = Failover::Before;

// A smaller difference never counts as a step of the clock.
constexpr int64_t kNoStep = 45'000;
constexpr Micros kMinute{60'000'000};

// Of the parts of a target the first says how old the data are: see AgeOfData.
constexpr uint32_t kAges = 4;
constexpr uint32_t kBefores = 4;

Micros ClockAhead(const Fault& fault) {
  const int64_t small = fault.duration.count() % kNoStep;
  switch (fault.target / (kAges * kBefores) % 8) {
    case 0:
    case 1:
      return Micros(0);
    case 2:
      return Micros(small);
    case 3:
      return Micros(-small);
    case 4:
      return fault.duration;
    case 5:
      return -fault.duration;
    case 6:
      return kMinute + fault.duration;
    default:
      return -kMinute - fault.duration;
  }
}

}  // namespace

Failover FailoverOf(const Fault& fault) {
  Failover failover{.clock_ahead = ClockAhead(fault)};
  if (fault.kind == FaultKind::kFailoverOrdered) {
    failover.before = Before::kReplica;
    return failover;
  }
  switch (fault.target / kAges % kBefores) {
    case 0:
      return failover;
    case 1:
      failover.before = Before::kGoesOn;
      failover.takes_writes_for = std::min<Micros>(fault.duration, kWritesAloneMax);
      return failover;
    case 2:
      failover.before = Before::kGoesOn;
      failover.takes_writes_for = kWritesAloneMax;
      return failover;
    default:
      failover.before = Before::kDoesNotStop;
      return failover;
  }
}

std::array<SentinelCut, kSentinels> CutsOf(const std::array<Micros, kSentinels>& known_after,
                                           support::Random random) {
  constexpr int64_t kUntilMax = 6'500'000;
  constexpr int64_t kJustBefore = 5'000;
  std::array<SentinelCut, kSentinels> cuts{};
  const uint64_t way = random.Below(4);
  if (way == 0) return cuts;
  const int64_t until_min = random.OneIn(2) ? 0 : kUntilMax / 2;
  const Micros until(random.Between(until_min, kUntilMax));
  for (size_t i = 0; i < kSentinels; ++i) {
    const int64_t last_moment = std::max<int64_t>(known_after[i].count() - kJustBefore, 0);
    if (way == 1 && random.OneIn(2)) continue;
    cuts[i] = {.from = Micros(way == 1 ? random.Between(0, last_moment) : last_moment),
               .until = until};
  }
  return cuts;
}

}  // namespace lockkeeper::simulation
