// SPDX-License-Identifier: Apache-2.0
//
// The calls of ListLocks, from arrival until the client has read the answer. A page may take a
// thousand reads, and 6 MB that gRPC keeps until the client reads. So their number is small, they
// run one after the other, and the answer is built on a thread of their own, because it would block
// the loop.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/executor.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Lifetime: borrows each list between Enter() and Leave().
class ListQueue {
 public:
  class List {
   public:
    // Starts it. True if Answer() follows. It may have ended when this returns.
    virtual bool Begin() = 0;
    // Lets gRPC cancel it.
    virtual void Cancel() = 0;

   protected:
    ~List() = default;
  };

  ListQueue();
  // Requires: no list is left.
  ~ListQueue();
  ListQueue(const ListQueue&) = delete;
  ListQueue& operator=(const ListQueue&) = delete;

  // Starts it on the queue's thread when its turn comes. If there are too many, the oldest is
  // cancelled.
  void Enter(List& list);

  // True if it had not started; it never will.
  bool Withdraw(const List& list);

  // Runs `answer`, of the list that is in progress, on the queue's thread.
  void Answer(core::Task answer);

  void Leave(const List& list);

 private:
  void Run();

  // Recursive: a call that is cancelled may leave before Cancel() returns.
  std::recursive_mutex mutex_;
  std::condition_variable_any changed_;
  bool stopping_ = false;
  std::deque<List*> open_;     // The oldest first.
  std::deque<List*> waiting_;  // Those of them that have not begun.
  core::Task answer_;          // Of the one that has begun.
  std::thread thread_;         // Last: it uses all of the above.
};

}  // namespace lockkeeper::rpc
