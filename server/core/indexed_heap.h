// SPDX-License-Identifier: Apache-2.0
//
// Elements with a due time, earliest first: timers, deadlines, polls, leases. A binary heap whose
// elements know their places, so that any of them can be removed. It borrows its elements, so
// adding one costs no allocation.
#pragma once

#include <cstddef>
#include <vector>

namespace lockkeeper::core {

// `T` has a `size_t heap_place`, which only the heap uses, and `bool IsDueBefore(const T&) const`,
// a strict order without equal elements, so that a run can be repeated exactly.
//
// Thread-safety: thread-compatible. Lifetime: borrows its elements until they are removed.
template <typename T>
class IndexedHeap {
 public:
  bool empty() const { return elements_.empty(); }
  size_t size() const { return elements_.size(); }

  // The earliest element. Requires: not empty.
  T& First() const { return *elements_.front(); }

  void Add(T& element) {
    elements_.push_back(&element);
    element.heap_place = elements_.size() - 1;
    MoveUp(element);
  }

  // Requires: it is in this heap.
  void Remove(T& element) {
    T& last = *elements_.back();
    elements_.pop_back();
    if (&last == &element) return;
    Place(last, element.heap_place);
    MoveUp(last);
    MoveDown(last);
  }

  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }

 private:
  void Place(T& element, size_t place) {
    elements_[place] = &element;
    element.heap_place = place;
  }

  void MoveUp(T& element) {
    size_t place = element.heap_place;
    while (place > 0) {
      const size_t parent = (place - 1) / 2;
      if (!element.IsDueBefore(*elements_[parent])) break;
      Place(*elements_[parent], place);
      place = parent;
    }
    Place(element, place);
  }

  void MoveDown(T& element) {
    size_t place = element.heap_place;
    for (;;) {
      size_t child = 2 * place + 1;
      if (child >= elements_.size()) break;
      if (child + 1 < elements_.size() && elements_[child + 1]->IsDueBefore(*elements_[child]))
        ++child;
      if (!elements_[child]->IsDueBefore(element)) break;
      Place(*elements_[child], place);
      place = child;
    }
    Place(element, place);
  }

  std::vector<T*> elements_;
};

}  // namespace lockkeeper::core
