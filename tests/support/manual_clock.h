// SPDX-License-Identifier: Apache-2.0
//
// A clock that moves only when the test moves it. Unit tests, the contract suite on the in-process
// node and the simulator run on it and on ManualExecutor.
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
  // Not zero, so that a test can use times before its beginning.
  core::Instant now_{std::chrono::hours(1)};
};

}  // namespace lockkeeper::support
