// SPDX-License-Identifier: Apache-2.0
//
// A clock that stands still until it is moved. Together with ManualExecutor it is the time of unit
// tests, of the contract suite on the in-process node, and of the simulator.
#pragma once

#include <chrono>

#include "core/clock.h"

namespace lockkeeper::support {

// Thread-safety: not thread-safe.
class ManualClock final : public core::Clock {
 public:
  core::Instant Now() const override { return now_; }

  // Moves on to `time`. Requires: not before Now().
  void AdvanceTo(core::Instant time) { now_ = time; }

 private:
  // Not zero, so that a test can speak of what was before it began.
  core::Instant now_{std::chrono::hours(1)};
};

}  // namespace lockkeeper::support
