// SPDX-License-Identifier: Apache-2.0
#include "loop/timer_heap.h"

#include <utility>

namespace lockkeeper::loop {

class TimerHeap::Entry : public core::Timer {
 public:
  Entry(TimerHeap* owner, core::Instant due_at, uint64_t order, core::Task work)
      : heap(owner), due(due_at), number(order), task(std::move(work)) {}
  ~Entry() override {
    if (heap != nullptr) heap->heap_.Remove(*this);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  bool IsDueBefore(const Entry& other) const {
    return due != other.due ? due < other.due : number < other.number;
  }

  TimerHeap* heap;  // Null once it has run or the heap is gone.
  const core::Instant due;
  const uint64_t number;
  core::Task task;
  size_t heap_place = 0;
};

TimerHeap::TimerHeap() = default;

TimerHeap::~TimerHeap() {
  for (Entry* entry : heap_) entry->heap = nullptr;
}

std::unique_ptr<core::Timer> TimerHeap::Add(core::Instant due, core::Task task) {
  auto entry = std::make_unique<Entry>(this, due, next_number_++, std::move(task));
  heap_.Add(*entry);
  return entry;
}

std::optional<core::Instant> TimerHeap::NextDue() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.First().due;
}

void TimerHeap::RunDue(core::Instant now) {
  const uint64_t first_new = next_number_;
  while (!heap_.empty() && heap_.First().due <= now && heap_.First().number < first_new) {
    Entry& entry = heap_.First();
    heap_.Remove(entry);
    entry.heap = nullptr;
    // The entry may be destroyed by its own task.
    core::Task task = std::move(entry.task);
    std::move(task)();
  }
}

}  // namespace lockkeeper::loop
