// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/node_clock.h"

#include <algorithm>
#include <chrono>

namespace lockkeeper::redis {
namespace {

constexpr int64_t kDriftDivisor = 1'000;  // A clock that is being slewed runs 0.05 % off at most.

int64_t MicrosOf(core::Instant at) {
  return std::chrono::duration_cast<core::Micros>(at.time_since_epoch()).count();
}

}  // namespace

int64_t NodeClock::Drift(core::Instant at) const {
  return std::max<int64_t>(0, MicrosOf(at) - MicrosOf(at_)) / kDriftDivisor;
}

bool NodeClock::Saw(core::Instant sent, core::Instant received, core::NodeTime node,
                    core::Micros never_a_step) {
  const int64_t low = node.micros - MicrosOf(received);
  const int64_t high = node.micros - MicrosOf(sent);
  if (known_) {
    const int64_t drift = Drift(received);
    const int64_t slack = drift + never_a_step.count();
    if (high < low_ - slack || low > high_ + slack) return false;
    // Both bounds hold, unless the clock was set by what is no step: then the older ones hold as
    // far as that goes. A slow answer does not make them wide, or it would hide a step.
    const bool both_hold = low <= high_ + drift && high >= low_ - drift;
    const int64_t older = both_hold ? drift : slack;
    low_ = std::max(low, low_ - older);
    high_ = std::min(high, high_ + older);
  } else {
    low_ = low;
    high_ = high;
  }
  known_ = true;
  at_ = received;
  return true;
}

core::Micros NodeClock::AheadOf(const NodeClock& other) const {
  return core::Micros((low_ + high_) / 2 - (other.low_ + other.high_) / 2);
}

NodeClock NodeClock::AheadBy(core::Micros by) const {
  NodeClock clock = *this;
  clock.low_ += by.count();
  clock.high_ += by.count();
  return clock;
}

core::NodeTime NodeClock::Earliest(core::Instant at) const {
  return {MicrosOf(at) + low_ - Drift(at) - kNeverAStep.count()};
}

core::NodeTime NodeClock::Latest(core::Instant at) const {
  return {MicrosOf(at) + high_ + Drift(at) + kNeverAStep.count()};
}

}  // namespace lockkeeper::redis
