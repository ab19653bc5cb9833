// SPDX-License-Identifier: Apache-2.0
//
// The wall clock of one in-process node. It runs with the test's monotonic clock, and can be set,
// as by an administrator or a bad time server.
#pragma once

#include <chrono>

#include "core/clock.h"
#include "core/types.h"

namespace lockkeeper::support {

// Lifetime: borrows the monotonic clock.
class NodeClock {
 public:
  explicit NodeClock(const core::Clock& monotonic, core::NodeTime now = {kStart})
      : monotonic_(monotonic), base_(now.micros - SinceEpoch(monotonic)) {}

  // What the command TIME answers.
  core::NodeTime Now() const {
    const int64_t elapsed = SinceEpoch(monotonic_);
    return {base_ + elapsed + (elapsed - rate_since_) * rate_ppm_ / 1'000'000};
  }

  // The clock by which keys expire.
  int64_t NowMillis() const { return Now().micros / 1000; }

  // Sets the clock forward, or back if negative.
  void StepBy(core::Micros step) { base_ += step.count(); }

  // From now on runs so much faster than the monotonic clock, or slower if negative: is slewed.
  void SetRate(int64_t ppm) {
    base_ = Now().micros - SinceEpoch(monotonic_);
    rate_ppm_ = ppm;
    rate_since_ = SinceEpoch(monotonic_);
  }

 private:
  // Some day in 2025. Odd microseconds, so that rounding shows.
  static constexpr int64_t kStart = 1'760'000'000'123'457;

  static int64_t SinceEpoch(const core::Clock& clock) {
    return std::chrono::duration_cast<core::Micros>(clock.Now().time_since_epoch()).count();
  }

  const core::Clock& monotonic_;
  int64_t base_;
  int64_t rate_ppm_ = 0;
  int64_t rate_since_ = 0;
};

}  // namespace lockkeeper::support
