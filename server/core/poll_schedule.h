// SPDX-License-Identifier: Apache-2.0
//
// When each line is polled next. Ten thousand lines are polled each second; a timer for each would
// cost more than the polls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/clock.h"
#include "core/executor.h"
#include "core/indexed_heap.h"
#include "core/line_waiter.h"

namespace lockkeeper::core {

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators, and lines until their polls
// are due or cancelled.
class PollSchedule {
 public:
  // `poll` runs when a line is due, earliest first; lines with the same time in the order of Set().
  PollSchedule(const Clock& clock, Executor& executor, std::function<void(LocalLine&)> poll);

  // Sets or replaces the time at which the line is due.
  void Set(LocalLine& line, Instant at);
  void Cancel(LocalLine& line);
  void CancelAll();

 private:
  void WatchFirst();
  void RunDue();

  const Clock& clock_;
  Executor& executor_;
  const std::function<void(LocalLine&)> poll_;
  IndexedHeap<LocalLine> due_;
  uint64_t last_number_ = 0;
  Instant timer_at_ = Instant::max();
  std::unique_ptr<Timer> timer_;
};

}  // namespace lockkeeper::core
