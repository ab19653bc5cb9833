// SPDX-License-Identifier: Apache-2.0
#include "renewal/releaser.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::client {
namespace {

bool IsWorthAnotherTry(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

std::optional<absl::StatusOr<ReleaseOutcome>> PendingRelease::Wait(Duration timeout) {
  std::unique_lock lock(mutex_);
  finished_.wait_for(lock, timeout, [&] { return outcome_.has_value(); });
  return outcome_;
}

absl::StatusOr<ReleaseOutcome> PendingRelease::WaitOrExplain(Duration timeout) {
  if (auto outcome = Wait(timeout)) return *std::move(outcome);
  const std::lock_guard lock(mutex_);
  return earlier_.Explain(absl::DeadlineExceededError("the release was not answered in time"));
}

void PendingRelease::Failed(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  earlier_.Note(why);
}

void PendingRelease::Finish(absl::StatusOr<ReleaseOutcome> outcome) {
  const std::lock_guard lock(mutex_);
  if (!outcome.ok()) outcome = earlier_.Explain(outcome.status());
  outcome_ = std::move(outcome);
  finished_.notify_all();
}

struct Releaser::Effort {
  LeaseRef lease;
  TraceContext trace;
  Instant give_up_at;
  int failures = 0;
  std::shared_ptr<PendingRelease> pending = std::make_shared<PendingRelease>();
};

Releaser::Releaser(const Clock& clock, Scheduler& scheduler, LeaseCalls& calls, Jitter& jitter)
    : clock_(clock), scheduler_(scheduler), calls_(calls), jitter_(jitter) {}

std::shared_ptr<PendingRelease> Releaser::Release(LeaseRef lease, TraceContext trace,
                                                  Instant give_up_at) {
  auto effort = std::make_shared<Effort>();
  effort->lease = std::move(lease);
  effort->trace = std::move(trace);
  effort->give_up_at = give_up_at;
  {
    const std::lock_guard lock(mutex_);
    if (++pending_ > kPendingReleasesMax) effort->give_up_at = clock_.Now();
  }
  auto pending = effort->pending;
  Try(std::move(effort));
  return pending;
}

void Releaser::Try(std::shared_ptr<Effort> effort) {
  // A copy: the answer may come, and end the effort, before the call returns.
  calls_.Release(effort->lease, effort->trace, kReleaseTryTimeout,
                 [this, effort](absl::StatusOr<ReleaseOutcome> outcome) mutable {
                   OnAnswer(std::move(effort), std::move(outcome));
                 });
}

void Releaser::OnAnswer(std::shared_ptr<Effort> effort, absl::StatusOr<ReleaseOutcome> outcome) {
  if (!outcome.ok() && IsWorthAnotherTry(outcome.status())) {
    effort->pending->Failed(outcome.status());
    const Instant again_at =
        clock_.Now() + BackoffDelay(++effort->failures, kBackoffMax, jitter_.Next());
    if (again_at < effort->give_up_at) {
      scheduler_.RunAt(again_at,
                       [this, effort = std::move(effort)]() mutable { Try(std::move(effort)); });
      return;
    }
  }
  if (outcome.ok() && *outcome == ReleaseOutcome::kNotHolder && effort->failures > 0) {
    outcome = ReleaseOutcome::kReleased;
  }
  effort->pending->Finish(std::move(outcome));
  const std::lock_guard lock(mutex_);
  if (--pending_ == 0) idle_.notify_all();
}

void Releaser::WaitUntilIdle(Duration timeout) {
  std::unique_lock lock(mutex_);
  idle_.wait_for(lock, timeout, [&] { return pending_ == 0; });
}

}  // namespace lockkeeper::client
