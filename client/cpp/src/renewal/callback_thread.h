// SPDX-License-Identifier: Apache-2.0
//
// Runs the caller's callbacks one after the other, on its own thread, so that a slow callback never
// delays a renewal.
#pragma once

#include <memory>
#include <thread>

#include "absl/functional/any_invocable.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe, except destroying. The thread starts with the first callback.
class CallbackThread {
 public:
  CallbackThread();
  // Runs the posted callbacks, then ends the thread. May be called from a callback: then the thread
  // ends after it.
  ~CallbackThread();
  CallbackThread(const CallbackThread&) = delete;
  CallbackThread& operator=(const CallbackThread&) = delete;

  // Completion: `callback` runs exactly once, never before this returned.
  void Post(absl::AnyInvocable<void() &&> callback);

  // Whether the calling thread runs a callback.
  bool IsCurrent() const;

 private:
  struct Queue;
  static void Run(const std::shared_ptr<Queue>& queue);

  const std::shared_ptr<Queue> queue_;
  std::thread thread_;
};

}  // namespace lockkeeper::client
