// SPDX-License-Identifier: Apache-2.0
//
// Runs the callers' callbacks one after the other, on a thread of its own, so that a slow one never
// holds up a renewal.
#pragma once

#include <memory>
#include <thread>

#include "absl/functional/any_invocable.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe, but for destroying. The thread starts with the first callback.
class CallbackThread {
 public:
  CallbackThread();
  // Runs what was posted, then ends the thread. May itself run in a callback: the thread then ends
  // after it.
  ~CallbackThread();
  CallbackThread(const CallbackThread&) = delete;
  CallbackThread& operator=(const CallbackThread&) = delete;

  // Completion: `callback` runs exactly once, never before this returned.
  void Post(absl::AnyInvocable<void() &&> callback);

  // Whether this runs in a callback.
  bool IsCurrent() const;

 private:
  struct Queue;
  static void Run(const std::shared_ptr<Queue>& queue);

  const std::shared_ptr<Queue> queue_;
  std::thread thread_;
};

}  // namespace lockkeeper::client
