// SPDX-License-Identifier: Apache-2.0
#include "simulation/failover.h"

#include <algorithm>
#include <cstdint>

#include "simulation/sentinels.h"

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
  if (fault.target / kAges % kBefores == 0) return failover;
  failover.before = Before::kGoesOn;
  failover.takes_writes_for = std::min<Micros>(fault.duration, kWritesAloneMax);
  return failover;
}

std::vector<SentinelCut> CutsOf(support::Random random) {
  constexpr int64_t kFromMax = 2'500'000;
  constexpr int64_t kUntilMax = 6'500'000;
  std::vector<SentinelCut> cuts;
  const uint64_t way = random.Below(3);
  if (way == 0) return cuts;
  const Micros from(random.Between(0, kFromMax));
  const Micros until(random.Between(from.count(), kUntilMax));
  for (size_t i = 0; i < kSentinels; ++i) {
    if (way == 1 || random.OneIn(2)) cuts.push_back({.sentinel = i, .from = from, .until = until});
  }
  return cuts;
}

}  // namespace lockkeeper::simulation
