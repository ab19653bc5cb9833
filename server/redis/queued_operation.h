// SPDX-License-Identifier: Apache-2.0
//
// An operation in the queue, and those of one lock. Only for operation_queue.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "redis/operation_queue.h"

namespace lockkeeper::redis {

struct OperationQueue::Pending {
  Operation operation;
  Lock* lock = nullptr;
  uint64_t number = 0;    // By age.
  size_t heap_place = 0;  // In deadlines_.
  bool sent = false;
  bool ended = false;  // `done` has run: at the deadline, before the reply.
  PendingPtr next;     // In its list, while it waits.

  CallKind kind() const { return {operation.script, operation.line_key}; }

  // By age if the deadlines are equal.
  bool IsDueBefore(const Pending& other) const {
    return operation.deadline != other.operation.deadline
               ? operation.deadline < other.operation.deadline
               : number < other.number;
  }
};

class OperationQueue::PendingList {
 public:
  PendingList() = default;
  // Without this, destroying a long list would be a recursion as deep as it is long.
  ~PendingList() {
    while (first_) PopFront();
  }
  PendingList(const PendingList&) = delete;
  PendingList& operator=(const PendingList&) = delete;

  Pending* first() const { return first_.get(); }

  void PushBack(PendingPtr pending) {
    Pending* const added = pending.get();
    (last_ == nullptr ? first_ : last_->next) = std::move(pending);
    last_ = added;
  }

  void PushFront(PendingPtr pending) {
    if (last_ == nullptr) last_ = pending.get();
    pending->next = std::move(first_);
    first_ = std::move(pending);
  }

  PendingPtr PopFront() {
    PendingPtr popped = std::move(first_);
    first_ = std::move(popped->next);
    if (!first_) last_ = nullptr;
    return popped;
  }

 private:
  PendingPtr first_;
  Pending* last_ = nullptr;
};

// The operations on one lock that are not in a call.
struct OperationQueue::Lock {
  const std::string* record_key = nullptr;  // In `locks_`.
  Route route;
  bool busy = false;   // Operations of this lock are in a call.
  bool ready = false;  // Stands in `ready_`.
  // Operations with lower numbers had come before the last reply of the store to a call for this
  // lock.
  uint64_t answered = 0;
  size_t waiting = 0;    // Operations in the two lists that have not ended.
  PendingList ahead;     // Extends, and what is sent again.
  PendingList in_order;  // The others, in the order of arrival.

  PendingList& next() { return ahead.first() != nullptr ? ahead : in_order; }
  Pending* first() { return next().first(); }
};

}  // namespace lockkeeper::redis
