// SPDX-License-Identifier: Apache-2.0
//
// Runs work at a given time. TimerThread is the real one; tests move time by hand.
#pragma once

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe.
class Scheduler {
 public:
  using TimerId = uint64_t;
  static constexpr TimerId kNoTimer = 0;

  virtual ~Scheduler() = default;

  // Runs `work` at `at`, or soon if that has passed, on the scheduler's thread and never before
  // this returned. `work` must not block.
  virtual TimerId RunAt(Instant at, absl::AnyInvocable<void() &&> work) = 0;

  // Drops work that has not begun. Does not wait for work that is running.
  virtual void Cancel(TimerId id) = 0;
};

}  // namespace lockkeeper::client
