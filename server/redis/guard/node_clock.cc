// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/node_clock.h"

#include <algorithm>
#include <chrono>

namespace lockkeeper::redis {
namespace {

constexpr int64_t kNeverAStep = 50'000;   // us
constexpr int64_t kDriftDivisor = 1'000;  // A clock that is being slewed runs 0.05 % off at most.

int64_t MicrosOf(core::Instant at) {
  return std::chrono::duration_cast<core::Micros>(at.time_since_epoch()).count();
}

}  // namespace

int64_t NodeClock::Slack(core::Instant at) const {
  return kNeverAStep + std::max<int64_t>(0, MicrosOf(at) - MicrosOf(at_)) / kDriftDivisor;
}

bool NodeClock::Saw(core::Instant sent, core::Instant received, core::NodeTime node) {
  const int64_t low = node.micros - MicrosOf(received);
  const int64_t high = node.micros - MicrosOf(sent);
  if (known_) {
    const int64_t slack = Slack(received);
    if (high < low_ - slack || low > high_ + slack) return false;
    const int64_t drift = slack - kNeverAStep;
    // Both bounds hold, unless the clock is being slewed: then the newer ones do.
    const int64_t both_low = std::max(low, low_ - drift);
    const int64_t both_high = std::min(high, high_ + drift);
    low_ = both_low <= both_high ? both_low : low;
    high_ = both_low <= both_high ? both_high : high;
  } else {
    low_ = low;
    high_ = high;
  }
  known_ = true;
  at_ = received;
  return true;
}

core::Micros NodeClock::SetBy(core::Instant sent, core::Instant received,
                              core::NodeTime node) const {
  const int64_t ahead = node.micros - MicrosOf(sent) / 2 - MicrosOf(received) / 2;
  return core::Micros(ahead - low_ / 2 - high_ / 2);
}

core::NodeTime NodeClock::Earliest(core::Instant at) const {
  return {MicrosOf(at) + low_ - Slack(at)};
}

core::NodeTime NodeClock::Latest(core::Instant at) const {
  return {MicrosOf(at) + high_ + Slack(at)};
}

}  // namespace lockkeeper::redis
