// SPDX-License-Identifier: Apache-2.0
//
// The clock and the scheduler of the client's tests: time moves only when a test moves it.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "renewal/scheduler.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// Work runs on the thread that calls Advance. Thread-safety: thread-safe.
class ManualTime final : public Clock, public Scheduler {
 public:
  Instant Now() const override;
  TimerId RunAt(Instant at, absl::AnyInvocable<void() &&> work) override;
  void Cancel(TimerId id) override;

  // Moves time, and runs each due timer at its own time.
  void Advance(Duration by);
  // Moves time and runs nothing, as if the process was paused.
  void Stall(Duration by);

  // Timers that have not run and were not cancelled.
  size_t timers() const;
  // When the next one runs. Requires: there is one.
  Instant next() const;

 private:
  mutable std::mutex mutex_;
  Instant now_{std::chrono::hours(1)};
  std::map<std::pair<Instant, TimerId>, absl::AnyInvocable<void() &&>> timers_;
  TimerId last_id_ = kNoTimer;
};

}  // namespace lockkeeper::client
