// SPDX-License-Identifier: Apache-2.0
//
// What happens in one failover: another server is promoted, and daemons move to it one by one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/types.h"
#include "redis/sentinel/primary_election.h"
#include "simulation/schedule.h"
#include "support/random.h"

namespace lockkeeper::simulation {

// A primary that has lost its replicas takes writes for so long: ServerFacts::WritesAloneFor().
inline constexpr core::Millis kWritesAloneMax{5'000};

// For how long a server that was replaced may be used, as RedisNode has it.
inline constexpr core::Millis kIsolation =
    std::max(redis::SentinelTimes().Isolation(), kWritesAloneMax);

struct Failover {
  // What becomes of the server before: it is gone; it becomes a replica at once, which answers
  // READONLY; or it goes on, and takes writes for a while.
  enum class Before { kGone, kReplica, kGoesOn };
  Before before = Before::kGone;
  Micros takes_writes_for{};  // After the promotion. Zero unless it goes on.
  Micros clock_ahead{};       // Of the promoted server's clock. Negative: it is behind.
};

Failover FailoverOf(const Fault& fault);

// From when on until when a daemon cannot reach a Sentinel, after the promotion.
struct SentinelCut {
  size_t sentinel = 0;
  Micros from{};
  Micros until{};
};

// Of one daemon, during this failover.
std::vector<SentinelCut> CutsOf(support::Random random);

// All daemons have found the promoted server by then: the last cut is over, and they have asked.
inline constexpr Micros kMovedWithin{7'800'000};

}  // namespace lockkeeper::simulation
