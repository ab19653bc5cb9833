// SPDX-License-Identifier: Apache-2.0
//
// What happens in one failover: another server is promoted, and daemons move to it one by one.
#pragma once

#include <algorithm>
#include <array>

#include "core/types.h"
#include "redis/sentinel/primary_election.h"
#include "simulation/schedule.h"
#include "simulation/sentinels.h"
#include "support/random.h"

namespace lockkeeper::simulation {

// A primary that has lost its replicas takes writes for so long: ServerFacts::WritesAloneFor().
inline constexpr core::Millis kWritesAloneMax{5'000};

// For how long a server that was replaced may be used, as RedisNode has it.
inline constexpr core::Millis kIsolation =
    std::max(redis::SentinelTimes().Isolation(), kWritesAloneMax);

struct Failover {
  // What becomes of the server before: it is gone; it becomes a replica at once, which answers
  // READONLY; it goes on, and takes writes for a while; or it takes writes for ever, since another
  // replica was cut off together with it.
  enum class Before { kGone, kReplica, kGoesOn, kDoesNotStop };
  Before before = Before::kGone;
  Micros takes_writes_for{};  // After the promotion. Zero unless it goes on for a while.
  Micros clock_ahead{};       // Of the promoted server's clock. Negative: it is behind.
};

Failover FailoverOf(const Fault& fault);

// From when on until when a daemon cannot reach a Sentinel, after the promotion.
struct SentinelCut {
  Micros from{};
  Micros until{};
};

// Those of one daemon, during this failover. Most begin just before the Sentinel knows of it. Then
// the daemon goes on with the server before for as long as the answers so far count.
std::array<SentinelCut, kSentinels> CutsOf(const std::array<Micros, kSentinels>& known_after,
                                           support::Random random);

// All daemons have found the promoted server by then: the last cut is over, and they have asked.
inline constexpr Micros kMovedWithin{7'800'000};

}  // namespace lockkeeper::simulation
