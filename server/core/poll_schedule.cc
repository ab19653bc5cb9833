// SPDX-License-Identifier: Apache-2.0
#include "core/poll_schedule.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lockkeeper::core {

PollSchedule::PollSchedule(const Clock& clock, Executor& executor,
                           std::function<void(LocalLine&)> poll)
    : clock_(clock), executor_(executor), poll_(std::move(poll)) {}

void PollSchedule::Set(LocalLine& line, Instant at) {
  Cancel(line);
  line.poll_at = at;
  line.poll_number = ++last_number_;
  due_.Add(line);
  WatchFirst();
}

void PollSchedule::Cancel(LocalLine& line) {
  if (line.poll_at == Instant::max()) return;
  due_.Remove(line);
  line.poll_at = Instant::max();
  if (!due_.empty()) return;
  timer_.reset();
  timer_at_ = Instant::max();
}

void PollSchedule::CancelAll() {
  while (!due_.empty()) Cancel(due_.First());
}

// A timer that is too early costs a turn; to move it at each change would cost more.
void PollSchedule::WatchFirst() {
  if (due_.empty() || timer_at_ <= due_.First().poll_at) return;
  timer_at_ = due_.First().poll_at;
  const auto delay = std::chrono::ceil<Micros>(timer_at_ - clock_.Now());
  timer_ = executor_.After(std::max(delay, Micros(0)), [this] { RunDue(); });
}

void PollSchedule::RunDue() {
  timer_at_ = Instant::max();
  const Instant now = clock_.Now();
  while (!due_.empty() && due_.First().poll_at <= now) {
    LocalLine& line = due_.First();
    Cancel(line);
    poll_(line);
  }
  WatchFirst();
}

}  // namespace lockkeeper::core
