// SPDX-License-Identifier: Apache-2.0
#include "renewal/kept_lease.h"

#include <utility>

namespace lockkeeper::client {

std::shared_ptr<KeptLease> KeptLease::Keep(const KeepingPorts& ports, LeaseRef lease,
                                           const LeaseLife& life,
                                           std::optional<Duration> extend_ttl) {
  const std::shared_ptr<KeptLease> kept(new KeptLease(ports, std::move(lease), life, extend_ttl));
  const std::lock_guard lock(kept->mutex_);
  kept->Reschedule();
  return kept;
}

KeptLease::KeptLease(const KeepingPorts& ports, LeaseRef lease, const LeaseLife& life,
                     std::optional<Duration> extend_ttl)
    : ports_(ports),
      lease_(std::move(lease)),
      extend_ttl_(extend_ttl),
      life_(life),
      reassertion_(lease_.reassertion) {}

std::string KeptLease::reassertion() {
  const std::lock_guard lock(mutex_);
  return reassertion_;
}

bool KeptLease::lost() {
  const std::lock_guard lock(mutex_);
  return LoseIfDue(ports_.clock.Now());
}

Loss KeptLease::loss() {
  const std::lock_guard lock(mutex_);
  LoseIfDue(ports_.clock.Now());
  return loss_;
}

Duration KeptLease::remaining() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kDropped) return Duration::zero();
  return life_.Remaining(ports_.clock.Now());
}

void KeptLease::OnLost(absl::AnyInvocable<void() &&> callback) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kDropped) return;
  on_lost_.push_back(std::move(callback));
  if (LoseIfDue(ports_.clock.Now())) PostCallbacks();
}

void KeptLease::OnExtended(absl::AnyInvocable<void()> callback) {
  // Destroys the previous callback after the mutex is released: its captures are the caller's.
  auto shared = std::make_shared<absl::AnyInvocable<void()>>(std::move(callback));
  const std::lock_guard lock(mutex_);
  if (state_ == State::kHeld) on_extended_.swap(shared);
}

KeptLease::State KeptLease::Drop() {
  std::vector<absl::AnyInvocable<void() &&>> on_lost;
  ExtendedCallback on_extended;
  const std::lock_guard lock(mutex_);
  LoseIfDue(ports_.clock.Now());
  on_lost.swap(on_lost_);
  on_extended.swap(on_extended_);
  ports_.scheduler.Cancel(std::exchange(timer_, Scheduler::kNoTimer));
  return std::exchange(state_, State::kDropped);
}

void KeptLease::WaitForCallbacks() {
  if (ports_.callbacks.IsCurrent()) return;
  std::unique_lock lock(mutex_);
  callback_ended_.wait(lock, [&] { return !callback_running_; });
}

void KeptLease::OnTimer() {
  Duration timeout{0};
  {
    const std::lock_guard lock(mutex_);
    timer_ = Scheduler::kNoTimer;
    const Instant now = ports_.clock.Now();
    if (state_ != State::kHeld || LoseIfDue(now)) return;
    const LeaseLife::Step step = life_.Next();
    if (step.due == LeaseLife::Due::kExtend && step.at <= now) timeout = life_.ExtendSent(now);
    Reschedule();
  }
  if (timeout > Duration::zero()) SendExtend(timeout);
}

void KeptLease::SendExtend(Duration timeout) {
  // Read before the request leaves, so that the store counts the ttl from a later moment.
  const Instant sent = ports_.clock.Now();
  LeaseRef proved = lease_;
  proved.reassertion = reassertion();
  ports_.calls.Extend(proved, extend_ttl_, timeout,
                      [weak = weak_from_this(), sent](ExtendAnswer answer) {
                        if (const auto self = weak.lock()) self->OnExtendAnswered(sent, answer);
                      });
}

void KeptLease::OnExtendAnswered(Instant sent, const ExtendAnswer& answer) {
  const double jitter = ports_.jitter.Next();
  const std::lock_guard lock(mutex_);
  const Instant now = ports_.clock.Now();
  if (state_ != State::kHeld || LoseIfDue(now)) return;
  last_error_ = answer.error;
  earlier_.Note(last_error_);
  life_.ExtendAnswered(now, sent, answer.outcome, answer.remaining_ttl, jitter);
  if (!answer.reassertion.empty()) reassertion_ = answer.reassertion;
  if (life_.lost()) {
    Lose(State::kLostByWord);
    return;
  }
  Reschedule();
  if (answer.outcome == ExtendOutcome::kExtended && on_extended_ != nullptr) {
    extended_due_ = true;
    PostCallbacks();
  }
}

void KeptLease::Ended(const absl::Status& why) {
  OnExtendAnswered(ports_.clock.Now(), {.outcome = ExtendOutcome::kLeaseLost, .error = why});
}

void KeptLease::PostCallbacks() {
  ports_.callbacks.Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->RunCallbacks();
  });
}

void KeptLease::RunCallbacks() {
  std::unique_lock lock(mutex_);
  if (state_ == State::kDropped) return;
  const bool lost = was_lost();
  std::vector<absl::AnyInvocable<void() &&>> on_lost;
  if (lost) on_lost.swap(on_lost_);
  const bool extended = std::exchange(extended_due_, false) && !lost;
  const ExtendedCallback on_extended = on_extended_;
  callback_running_ = true;
  lock.unlock();

  if (extended && on_extended != nullptr) (*on_extended)();
  if (lost) stop_.request_stop();
  for (auto& callback : on_lost) std::move(callback)();
  on_lost.clear();

  lock.lock();
  callback_running_ = false;
  callback_ended_.notify_all();
}

bool KeptLease::LoseIfDue(Instant now) {
  if (state_ == State::kHeld && life_.LoseIfDue(now)) Lose(State::kLostInTime);
  return was_lost();
}

void KeptLease::Lose(State state) {
  state_ = state;
  loss_ = LossNow();
  ports_.scheduler.Cancel(std::exchange(timer_, Scheduler::kNoTimer));
  ports_.calls.Forget(lease_);
  PostCallbacks();
}

Loss KeptLease::LossNow() const {
  if (state_ == State::kLostByWord) return {LossCause::kEnded, last_error_};
  if (life_.capped()) return {LossCause::kMaxHold, absl::OkStatus()};
  if (!last_error_.ok()) return {LossCause::kNotRenewed, earlier_.Explain(last_error_)};
  if (life_.asking()) {
    return {LossCause::kNotRenewed, absl::DeadlineExceededError("no answer came in time")};
  }
  return {LossCause::kPaused, absl::OkStatus()};
}

void KeptLease::Reschedule() {
  ports_.scheduler.Cancel(std::exchange(timer_, Scheduler::kNoTimer));
  const LeaseLife::Step step = life_.Next();
  if (step.due == LeaseLife::Due::kNothing) return;
  timer_ = ports_.scheduler.RunAt(step.at, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnTimer();
  });
}

}  // namespace lockkeeper::client
