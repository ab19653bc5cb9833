// SPDX-License-Identifier: Apache-2.0
//
// The calls of ListLocks, from their begin until their client has read. A page may take a thousand
// reads and 6 MB, which gRPC keeps for as long as the client does not read. So there are few of
// them, and they are carried out one after the other, on a thread of their own where the loop would
// be kept from others.
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
    // Starts to carry it out. True if Answer() follows. It may be over when this returns.
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

  // Begins it when its turn has come, on the queue's thread. If there are too many the oldest is
  // cancelled.
  void Enter(List& list);

  // True if it had not begun: then it never does.
  bool Withdraw(const List& list);

  // Runs `answer` of the list that has begun on the queue's thread.
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
