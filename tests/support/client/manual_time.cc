// SPDX-License-Identifier: Apache-2.0
#include "support/client/manual_time.h"

#include <algorithm>

namespace lockkeeper::client {

Instant ManualTime::Now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

Scheduler::TimerId ManualTime::RunAt(Instant at, absl::AnyInvocable<void() &&> work) {
  const std::lock_guard lock(mutex_);
  const TimerId id = ++last_id_;
  timers_.emplace(std::pair(at, id), std::move(work));
  return id;
}

void ManualTime::Cancel(TimerId id) {
  absl::AnyInvocable<void() &&> dropped;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(timers_.begin(), timers_.end(),
                                  [&](const auto& timer) { return timer.first.second == id; });
  if (found == timers_.end()) return;
  dropped = std::move(found->second);
  timers_.erase(found);
}

void ManualTime::Advance(Duration by) {
  const Instant target = Now() + by;
  while (true) {
    absl::AnyInvocable<void() &&> work;
    {
      const std::lock_guard lock(mutex_);
      if (timers_.empty() || timers_.begin()->first.first > target) break;
      now_ = std::max(now_, timers_.begin()->first.first);
      work = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    }
    std::move(work)();
  }
  const std::lock_guard lock(mutex_);
  now_ = std::max(now_, target);
}

void ManualTime::Stall(Duration by) {
  const std::lock_guard lock(mutex_);
  now_ += by;
}

size_t ManualTime::timers() const {
  const std::lock_guard lock(mutex_);
  return timers_.size();
}

Instant ManualTime::next() const {
  const std::lock_guard lock(mutex_);
  return timers_.begin()->first.first;
}

}  // namespace lockkeeper::client
