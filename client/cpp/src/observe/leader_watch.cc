// SPDX-License-Identifier: Apache-2.0
#include "observe/leader_watch.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include "lockkeeper/error.h"

namespace lockkeeper::client {

LeaderWatch::LeaderWatch(const WatchPorts& ports, std::string name, const ObserveOptions& options,
                         RunCallback run_callback)
    : ports_(ports),
      name_(std::move(name)),
      options_(options),
      run_callback_(std::move(run_callback)),
      daemon_(ports.calls.current()) {}

void LeaderWatch::Start() { Advance(Lock(mutex_)); }

std::optional<Leader> LeaderWatch::leader() const {
  const std::lock_guard lock(mutex_);
  return rules_.leader();
}

void LeaderWatch::Close() {
  Lock lock(mutex_);
  if (std::exchange(closed_, true)) return;
  LetGo();
  Advance(std::move(lock));
}

void LeaderWatch::WaitUntilGone() {
  Lock lock(mutex_);
  call_ended_.wait(lock, [this] { return calls_ == 0; });
}

void LeaderWatch::OnEvents(uint64_t attempt, const std::vector<LockEvent>& events) {
  Lock lock(mutex_);
  if (attempt != attempt_) return;
  reading_ = false;
  for (const LockEvent& event : events) {
    if (event.kind == LockEvent::Kind::kStarted) has_started_ = true;
    Take(rules_.OnEvent(event));
  }
  Advance(std::move(lock));
}

void LeaderWatch::OnEnd(uint64_t attempt, const absl::Status& why) {
  Lock lock(mutex_);
  if (attempt == attempt_) Leave(why);
  Advance(std::move(lock));
  CallEnded();
}

void LeaderWatch::OnLooked(uint64_t attempt, const absl::StatusOr<LockLook>& looked) {
  Lock lock(mutex_);
  if (attempt == attempt_) {
    look_ = nullptr;
    if (looked.ok()) {
      // Not with STARTED itself: where every look fails the delays would never grow.
      if (has_started_) failures_ = 0;
      Take(rules_.OnLook(*looked));
    } else {
      Leave(looked.status());
    }
  }
  Advance(std::move(lock));
  CallEnded();
}

void LeaderWatch::CallEnded() {
  const std::lock_guard lock(mutex_);
  --calls_;
  call_ended_.notify_all();
}

void LeaderWatch::OnTimer() {
  Lock lock(mutex_);
  // One that was cancelled may run all the same.
  if (timer_ == Scheduler::kNoTimer || ports_.clock.Now() < timer_at_) return;
  timer_ = Scheduler::kNoTimer;
  if (!std::exchange(pausing_, false)) must_look_ = true;
  Advance(std::move(lock));
}

void LeaderWatch::Take(const LeaderRules::Outcome& outcome) {
  if (outcome.changed) Add(rules_.leader());
  if (outcome.look) must_look_ = true;
  if (!outcome.look_after) return;
  // At the very end of a quarantine there may be left nothing of it, and it is not over yet.
  const Instant at = ports_.clock.Now() + std::max(*outcome.look_after, kBackoffFirst);
  if (timer_ == Scheduler::kNoTimer || at < timer_at_) SetTimer(at);
}

void LeaderWatch::Add(News news) {
  news_.push_back(std::move(news));
  if (news_.size() == 1) run_callback_([self = shared_from_this()] { self->TellAll(); });
}

void LeaderWatch::TellAll() {
  Lock lock(mutex_);
  while (!news_.empty()) {
    const News news = news_.front();
    lock.unlock();
    Tell(news);
    lock.lock();
    if (!closed_) news_.pop_front();
  }
  Advance(std::move(lock));
}

void LeaderWatch::Tell(const News& news) const {
  if (const auto* leader = std::get_if<std::optional<Leader>>(&news)) {
    if (options_.on_change) options_.on_change(*leader);
    return;
  }
  const absl::Status& error = std::get<absl::Status>(news);
  if (options_.on_error) return options_.on_error(error);
  std::cerr << "lockkeeper: observer of `" + name_ + "`: " + std::string(error.message()) + "\n";
}

void LeaderWatch::Follow() {
  const uint64_t attempt = ++attempt_;
  has_started_ = false;
  ++calls_;
  stream_ = ports_.calls.NewWatch(
      daemon_, name_,
      {.on_events = [self = shared_from_this(),
                     attempt](const auto& events) { self->OnEvents(attempt, events); },
       .on_end = [self = shared_from_this(),
                  attempt](const absl::Status& why) { self->OnEnd(attempt, why); }});
  SetTimer(ports_.clock.Now() + kStartTimeout);
}

void LeaderWatch::Look() {
  must_look_ = false;
  rules_.OnLookSent();
  ++calls_;
  look_ = ports_.calls.NewLook(
      daemon_, name_,
      [self = shared_from_this(), attempt = attempt_](const absl::StatusOr<LockLook>& looked) {
        self->OnLooked(attempt, looked);
      });
  to_do_.emplace_back([look = look_] { look->Begin(); });
  SetTimer(ports_.clock.Now() + kLookInterval);
}

void LeaderWatch::Leave(const absl::Status& why) {
  LetGo();
  if (absl::IsUnavailable(why) || absl::IsDeadlineExceeded(why)) {
    to_do_.emplace_back(
        [&calls = ports_.calls, daemon = daemon_, why] { calls.Failed(daemon, why); });
  }
  // On its own way round: a daemon that refuses to be watched may serve the client all the same.
  daemon_ = (daemon_ + 1) % ports_.calls.size();
  const Duration least = RetryDelayOf(why).value_or(std::chrono::milliseconds(0));
  const Duration delay = BackoffDelay(++failures_, kBackoffMax, ports_.jitter.Next());
  pausing_ = true;
  SetTimer(ports_.clock.Now() + std::max(least, delay));
  Add(why);
}

void LeaderWatch::LetGo() {
  ++attempt_;
  if (stream_ != nullptr) to_do_.emplace_back([stream = std::move(stream_)] { stream->Cancel(); });
  if (look_ != nullptr) to_do_.emplace_back([look = std::move(look_)] { look->Cancel(); });
  stream_ = nullptr;
  look_ = nullptr;
  reading_ = false;
  must_look_ = false;
  ports_.scheduler.Cancel(std::exchange(timer_, Scheduler::kNoTimer));
}

void LeaderWatch::SetTimer(Instant at) {
  ports_.scheduler.Cancel(timer_);
  timer_at_ = at;
  timer_ = ports_.scheduler.RunAt(at, [self = shared_from_this()] { self->OnTimer(); });
}

void LeaderWatch::Advance(Lock lock) {
  // While the caller is told something, nothing more is asked for: so it cannot pile up.
  if (closed_) {
    news_.clear();
  } else if (news_.empty()) {
    if (stream_ == nullptr && !pausing_) Follow();
    if (stream_ != nullptr && !std::exchange(reading_, true)) {
      to_do_.emplace_back([stream = stream_] { stream->Read(); });
    }
    if (stream_ != nullptr && must_look_ && look_ == nullptr) Look();
  }
  auto to_do = std::exchange(to_do_, {});
  lock.unlock();
  for (auto& each : to_do) std::move(each)();
}

}  // namespace lockkeeper::client
