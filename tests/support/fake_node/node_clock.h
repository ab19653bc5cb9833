// SPDX-License-Identifier: Apache-2.0
//
// The wall clock of one in-process node: runs with the test's monotonic clock, and can be set, as
// an administrator or a bad time server would.
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
  core::NodeTime Now() const { return {base_ + SinceEpoch(monotonic_)}; }

  // The clock by which keys expire.
  int64_t NowMillis() const { return Now().micros / 1000; }

  // Sets the clock forward, or back if negative.
  void StepBy(core::Micros step) { base_ += step.count(); }

 private:
  // Some day in 2025. Odd microseconds, so that rounding shows.
  static constexpr int64_t kStart = 1'760'000'000'123'457;

  static int64_t SinceEpoch(const core::Clock& clock) {
    return std::chrono::duration_cast<core::Micros>(clock.Now().time_since_epoch()).count();
  }

  const core::Clock& monotonic_;
  int64_t base_;
};

}  // namespace lockkeeper::support
