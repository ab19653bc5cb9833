// SPDX-License-Identifier: Apache-2.0
//
// Counts the calls in flight, so that a server that ends knows when they have. gRPC itself waits
// for connections, and an idle client may keep one open for seconds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/types.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe.
class CallGate {
 public:
  // Whether the call may be carried out. Either way one Leave() follows.
  bool Enter();
  void Leave();

  // Calls that have entered and not left.
  int64_t calls() const { return calls_; }

  // Lets no more calls in, and waits until all have left, at most `limit`. Answers how many have
  // not.
  int64_t Close(core::Millis limit);

 private:
  std::atomic<int64_t> calls_{0};
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::condition_variable empty_;
};

}  // namespace lockkeeper::rpc
