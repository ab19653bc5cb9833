// SPDX-License-Identifier: Apache-2.0
#include "redis/client/timer_heap.h"

#include <utility>

namespace lockkeeper::redis {

class TimerHeap::Entry : public core::Timer {
 public:
  Entry(TimerHeap* owner, core::Instant due_at, uint64_t order, core::Task work)
      : heap(owner), due(due_at), number(order), task(std::move(work)) {}
  ~Entry() override {
    if (heap != nullptr) heap->Remove(*this);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  TimerHeap* heap;  // Null once it has run or the heap is gone.
  const core::Instant due;
  const uint64_t number;
  core::Task task;
  size_t index = 0;
};

TimerHeap::~TimerHeap() {
  for (Entry* entry : heap_) entry->heap = nullptr;
}

std::unique_ptr<core::Timer> TimerHeap::Add(core::Instant due, core::Task task) {
  auto entry = std::make_unique<Entry>(this, due, next_number_++, std::move(task));
  heap_.push_back(nullptr);
  Place(heap_.size() - 1, entry.get());
  SiftUp(heap_.size() - 1);
  return entry;
}

std::optional<core::Instant> TimerHeap::NextDue() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front()->due;
}

void TimerHeap::RunDue(core::Instant now) {
  const uint64_t first_new = next_number_;
  while (!heap_.empty() && heap_.front()->due <= now && heap_.front()->number < first_new) {
    Entry& entry = *heap_.front();
    Remove(entry);
    // The entry may be destroyed by its own task.
    core::Task task = std::move(entry.task);
    std::move(task)();
  }
}

bool TimerHeap::Before(const Entry& a, const Entry& b) {
  return a.due != b.due ? a.due < b.due : a.number < b.number;
}

void TimerHeap::Place(size_t index, Entry* entry) {
  heap_[index] = entry;
  entry->index = index;
}

void TimerHeap::SiftUp(size_t index) {
  Entry* const entry = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!Before(*entry, *heap_[parent])) break;
    Place(index, heap_[parent]);
    index = parent;
  }
  Place(index, entry);
}

void TimerHeap::SiftDown(size_t index) {
  Entry* const entry = heap_[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && Before(*heap_[child + 1], *heap_[child])) ++child;
    if (!Before(*heap_[child], *entry)) break;
    Place(index, heap_[child]);
    index = child;
  }
  Place(index, entry);
}

void TimerHeap::Remove(Entry& entry) {
  const size_t index = entry.index;
  entry.heap = nullptr;
  Entry* const last = heap_.back();
  heap_.pop_back();
  if (last == &entry) return;
  Place(index, last);
  SiftUp(index);
  SiftDown(last->index);
}

}  // namespace lockkeeper::redis
