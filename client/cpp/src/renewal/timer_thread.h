// SPDX-License-Identifier: Apache-2.0
//
// The one thread of a client that renews all its leases. It waits on a timerfd of CLOCK_BOOTTIME,
// so that overdue work runs at once after the machine was suspended.
#pragma once

#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "renewal/scheduler.h"
#include "renewal/time.h"

namespace lockkeeper::client {

class TimerThread final : public Scheduler {
 public:
  TimerThread();
  ~TimerThread() override;
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;

  TimerId RunAt(Instant at, absl::AnyInvocable<void() &&> work) override;
  void Cancel(TimerId id) override;

  // Drops work that has not begun, waits for work that is running, and ends the thread. RunAt does
  // nothing afterwards. Requires: not called on the thread itself.
  void Stop();

 private:
  using Key = std::pair<Instant, TimerId>;

  void Run();
  void RunDue();
  // Makes the timerfd fire at the earliest timer. Requires: mutex_ held.
  void Arm();

  const int timer_fd_;
  const int wake_fd_;
  std::mutex mutex_;
  std::map<Key, absl::AnyInvocable<void() &&>> timers_;  // Guarded by mutex_, as all below.
  std::map<TimerId, Instant> due_;
  Instant armed_ = Instant::max();
  TimerId last_id_ = kNoTimer;
  bool stopped_ = false;
  std::thread thread_;  // Last, so that it starts after all the others exist.
};

}  // namespace lockkeeper::client
