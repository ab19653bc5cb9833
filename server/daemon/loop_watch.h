// SPDX-License-Identifier: Apache-2.0
//
// Whether the daemon's loop still turns, as another thread sees it: everything else that tells of
// the daemon's health hears it from the loop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "telemetry/health_board.h"

namespace lockkeeper::daemon {

// Takes the loop for stuck when it has not turned for 5 s, in which it looks every half second.
// Lifetime: borrows `health`.
class LoopWatch {
 public:
  explicit LoopWatch(telemetry::HealthBoard& health);
  ~LoopWatch();
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

  // The loop has turned, which it has to say at least twice a second. Of the loop's thread.
  void Turned() { turns_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void Run();
  void Look();

  telemetry::HealthBoard& health_;
  std::atomic<uint64_t> turns_{0};

  // Of the watch's thread.
  uint64_t seen_ = 0;
  int looks_ = 0;  // That found no turn, in a row.

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;   // Guarded by the mutex.
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace lockkeeper::daemon
