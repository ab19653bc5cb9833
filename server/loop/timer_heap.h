// SPDX-License-Identifier: Apache-2.0
//
// The timers of one event loop, earliest first. Most timers of a lock daemon are cancelled (a
// request's deadline, a lease that is extended). So adding and cancelling cost one allocation and
// O(log n), and a cancelled timer leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/executor.h"
#include "core/indexed_heap.h"
#include "core/types.h"

namespace lockkeeper::loop {

// Thread-safety: loop-thread only.
// Lifetime: timers may outlive the heap, and then never run.
class TimerHeap {
 public:
  TimerHeap();
  ~TimerHeap();
  TimerHeap(const TimerHeap&) = delete;
  TimerHeap& operator=(const TimerHeap&) = delete;

  [[nodiscard]] std::unique_ptr<core::Timer> Add(core::Instant due, core::Task task);

  std::optional<core::Instant> NextDue() const;

  // Runs the tasks that are due at `now`, earliest first, equal ones in the order of Add(). A timer
  // that one of them adds waits for the next call, so this always ends.
  void RunDue(core::Instant now);

  size_t size() const { return heap_.size(); }

 private:
  class Entry;

  core::IndexedHeap<Entry> heap_;
  uint64_t next_number_ = 0;
};

}  // namespace lockkeeper::loop
