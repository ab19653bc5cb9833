// SPDX-License-Identifier: Apache-2.0
#include "core/withdrawals.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::core {
namespace {

// Pause between attempts, doubled each time up to the maximum: a store that is away gets about one
// attempt a second for each withdrawal.
constexpr Millis kPauseFirst{20};
constexpr Millis kPauseMax{1000};

// By how much the clocks of daemon and store may differ over the lifetime of a call.
constexpr Millis kLandingMargin{100};

// Time that a try has after the first one, whose time the caller sets.
constexpr Millis kTryTimeout{1000};

WithdrawalEnd EndOf(WithdrawResult result) {
  switch (result.kind) {
    case WithdrawResult::kWithdrawn:
      return WithdrawalEnd::kWithdrawn;
    case WithdrawResult::kNotGranted:
      return WithdrawalEnd::kNotGranted;
    case WithdrawResult::kKept:
      return WithdrawalEnd::kKept;
  }
  return WithdrawalEnd::kLeftToTtl;
}

}  // namespace

struct Withdrawals::Running {
  WithdrawRequest request;
  Instant give_up;
  Done<WithdrawResult> first_answer;   // Empty once it has run.
  Instant landed_by = Instant::min();  // By then the store has executed the acquire, or never will.
  Millis pause = kPauseFirst;
  std::unique_ptr<Timer> timer;
};

Withdrawals::Withdrawals(LockStore& store, const Clock& clock, Executor& executor,
                         LockObserver& observer, Millis call_lifetime)
    : store_(store),
      clock_(clock),
      executor_(executor),
      observer_(observer),
      call_lifetime_(call_lifetime) {}

Withdrawals::~Withdrawals() { *alive_ = false; }

void Withdrawals::Start(WithdrawRequest request, Instant give_up, Done<WithdrawResult> first_answer,
                        Acquire acquire) {
  MakeRoom();
  const uint64_t id = next_id_++;
  const Instant first_deadline = request.deadline;
  auto running = std::make_unique<Running>();
  running->request = std::move(request);
  running->give_up = give_up;
  running->first_answer = std::move(first_answer);
  if (acquire == Acquire::kMayBeOnItsWay) {
    const Millis landing_max = call_lifetime_ + kLandingMargin;
    running->landed_by = clock_.Now() + landing_max;
    running->give_up += landing_max;
  }
  running_.emplace(id, std::move(running));
  Try(id, first_deadline);
}

void Withdrawals::TakeBack(const AcquireRequest& request, Instant deadline,
                           absl::StatusOr<AcquireAnswer> withdrawn, absl::Status unknown,
                           Done<AcquireAnswer> done, Acquire acquire) {
  Millis tried_for = request.ClosesFor();
  if (request.wait_timeout > Millis(0)) tried_for = std::max(tried_for, kLeaveTriedFor);
  Start(
      {request.name, request.lease_id, request.attempt, request.keeper, deadline},
      clock_.Now() + tried_for,
      [withdrawn = std::move(withdrawn), unknown = std::move(unknown),
       done = std::move(done)](absl::StatusOr<WithdrawResult> result) mutable {
        const bool is_withdrawn = result.ok() && *result != WithdrawResult::kKept;
        std::move(done)(is_withdrawn ? std::move(withdrawn) : std::move(unknown));
      },
      acquire);
}

void Withdrawals::TakeBackUnknown(const AcquireRequest& request, Instant deadline,
                                  const absl::Status& error, Done<AcquireAnswer> done) {
  const bool was_answered = ReasonOf(error) == ErrorReason::kInvariantViolated;
  absl::Status withdrawn = was_answered ? error
                                        : Error(ErrorReason::kStoreUnavailable,
                                                "the store did not answer; nothing was granted");
  absl::Status unknown =
      was_answered ? Error(ErrorReason::kOutcomeUnknown, std::string(error.message())) : error;
  TakeBack(request, deadline, std::move(withdrawn), std::move(unknown), std::move(done),
           was_answered ? Acquire::kDone : Acquire::kMayBeOnItsWay);
}

void Withdrawals::TakeBackUnconfirmed(const AcquireRequest& request, Instant deadline,
                                      Done<AcquireAnswer> done) {
  TakeBack(request, deadline, Unconfirmed(), UnconfirmedAndNotTakenBack(), std::move(done));
}

void Withdrawals::Try(uint64_t id, Instant deadline) {
  Running& running = *running_.at(id);
  running.timer.reset();
  running.request.deadline = deadline;
  store_.Withdraw(running.request,
                  [this, alive = alive_, id](absl::StatusOr<WithdrawResult> answer) {
                    if (*alive) OnAnswer(id, std::move(answer));
                  });
}

void Withdrawals::OnAnswer(uint64_t id, absl::StatusOr<WithdrawResult> answer) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  Running& running = *found->second;
  const bool trying_helps = absl::IsUnavailable(answer.status());
  auto first_answer = std::exchange(running.first_answer, nullptr);

  const bool found_nothing =
      answer.ok() && *answer == WithdrawResult::kNotGranted && answer->seen.position == 0;
  const Instant now = clock_.Now();
  if (found_nothing && now < running.landed_by) {
    running.timer = executor_.After(std::chrono::ceil<Micros>(running.landed_by - now),
                                    [this, id] { Try(id, clock_.Now() + kTryTimeout); });
  } else if (answer.ok()) {
    Finish(id, EndOf(*answer));
  } else if (!trying_helps || now + running.pause >= running.give_up) {
    Finish(id, WithdrawalEnd::kLeftToTtl);
  } else {
    running.timer =
        executor_.After(running.pause, [this, id] { Try(id, clock_.Now() + kTryTimeout); });
    running.pause = std::min(running.pause * 2, kPauseMax);
  }
  if (first_answer) std::move(first_answer)(std::move(answer));
}

void Withdrawals::Finish(uint64_t id, WithdrawalEnd end) {
  const auto found = running_.find(id);
  const WithdrawRequest& request = found->second->request;
  // An offer that its waiter is to have again was given to nobody.
  const bool is_given_again =
      request.scope == WithdrawScope::kPutBack || request.scope == WithdrawScope::kPassOver;
  if (!is_given_again) observer_.OnWithdrawalEnded(request.name, end);
  const bool is_taken_back = end == WithdrawalEnd::kWithdrawn && !is_given_again;
  if (is_taken_back && observer_.IsWatched(request.name)) {
    observer_.OnEvent(EventOf(LockEventKind::kTakenBack, request));
  }
  running_.erase(found);
}

// Leaves the oldest withdrawal to its ttl if there are too many, as in a long outage.
void Withdrawals::MakeRoom() {
  if (running_.size() < limits::kWithdrawalsMax) return;
  const auto oldest = running_.begin();
  if (oldest->second->first_answer) return;
  Finish(oldest->first, WithdrawalEnd::kLeftToTtl);
}

}  // namespace lockkeeper::core
