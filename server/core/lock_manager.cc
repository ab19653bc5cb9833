// SPDX-License-Identifier: Apache-2.0
#include "core/lock_manager.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::core {
namespace {

// Kept back from the rpc deadline, so that our answer arrives before it: a tenth of what is left,
// at most this.
constexpr Millis kReplyMarginMax{20};

// The same for a wait, whose end takes a trip to the store.
constexpr Millis kLeaveMarginMax{250};

// Share of an acquire's time that the store gets for the grant. The rest is for taking it back if
// the answer does not come, so that the caller hears whether that worked.
constexpr double kGrantShare = 0.6;
constexpr double kWholeShare = 1.0;

WaitEnd EndOf(const absl::StatusOr<AcquireAnswer>& answer) {
  if (!answer.ok()) {
    return ReasonOf(answer.status()) == ErrorReason::kServerDraining ? WaitEnd::kDrained
                                                                     : WaitEnd::kFailed;
  }
  if (const Lease* lease = std::get_if<Lease>(&*answer)) {
    return lease->offered ? WaitEnd::kOffered : WaitEnd::kGranted;
  }
  return std::get<Contention>(*answer).reason == ContentionReason::kCancelled ? WaitEnd::kCancelled
                                                                              : WaitEnd::kTimedOut;
}

}  // namespace

LockManager::LockManager(LockStore& store, const Clock& clock, Executor& executor,
                         LockObserver& observer, LockManagerOptions options)
    : store_(store),
      clock_(clock),
      executor_(executor),
      observer_(observer),
      options_(options),
      withdrawals_(store, clock, executor, observer),
      line_(store, clock, executor, withdrawals_,
            [this](const Keeper& keeper, Instant arrived,
                   const absl::StatusOr<AcquireAnswer>& answer) {
              OnWaitEnded(keeper, arrived, answer);
            }) {}

void LockManager::Acquire(AcquireRequest request, Done<AcquireAnswer> done) {
  if (RefusesAdmission(done)) return;
  if (draining_) {
    return AnswerLater(Error(ErrorReason::kServerDraining, "this daemon is stopping"),
                       std::move(done));
  }
  if (request.wait_timeout > Millis(0)) {
    const auto waiters = waiters_by_principal_.find(request.principal);
    if (waiters != waiters_by_principal_.end() &&
        waiters->second >= options_.waiters_per_principal_max) {
      return AnswerLater(Error(ErrorReason::kWaiterLimit,
                               "at most " + std::to_string(options_.waiters_per_principal_max) +
                                   " acquires of one principal may wait at this daemon "
                                   "(waiters.per_principal_max)"),
                         std::move(done));
    }
    line_.Expect(request.keeper, request.lease_id);
    done = CountedWaiter(request.principal, std::move(done));
  } else {
    done = Counted(std::move(done));
  }
  if (request.min_assurance > Assurance::kNone) done = WithAssurance(request, std::move(done));
  const Instant arrived = clock_.Now();
  const Instant rpc_deadline = request.deadline;
  request.deadline = StoreDeadline(rpc_deadline, kGrantShare);
  auto asked = std::make_unique<AcquireRequest>(std::move(request));
  const AcquireRequest& to_store = *asked;
  store_.Acquire(
      to_store, [this, arrived, rpc_deadline, asked = std::move(asked),
                 done = std::move(done)](absl::StatusOr<AcquireOutcome> outcome) mutable {
        asked->deadline = rpc_deadline;
        OnAcquireAnswered(std::move(*asked), arrived, std::move(outcome), std::move(done));
      });
}

void LockManager::OnAcquireAnswered(AcquireRequest request, Instant arrived,
                                    absl::StatusOr<AcquireOutcome> outcome,
                                    Done<AcquireAnswer> done) {
  const Waiting* place = outcome.ok() ? std::get_if<Waiting>(&*outcome) : nullptr;
  if (place != nullptr) return OnWaiting(std::move(request), arrived, *place, std::move(done));
  if (request.wait_timeout > Millis(0)) {
    line_.Forget(request.keeper);
    left_.erase(request.keeper);
  }
  if (!outcome.ok()) {
    if (MayHaveHappened(outcome.status())) {
      return CleanUpAfter(
          request,
          Error(ErrorReason::kStoreUnavailable, "the store did not answer; nothing was granted"),
          outcome.status(), std::move(done));
    }
    return std::move(done)(outcome.status());
  }
  if (Lease* lease = std::get_if<Lease>(&*outcome)) {
    return OnGranted(request, arrived, std::move(*lease), std::move(done));
  }
  std::move(done)(AcquireAnswer(std::get<Contention>(*std::move(outcome))));
}

void LockManager::OnGranted(const AcquireRequest& request, Instant arrived, Lease lease,
                            Done<AcquireAnswer> done) {
  if (!lease.offered || request.claim == ClaimMode::kByClient) {
    if (lease.previous_lease_expired) observer_.OnExpiredLeaseReplaced(request.name, lease.token);
    if (lease.offered) line_.Offered(lease.lease_id, lease.token);
    return std::move(done)(AcquireAnswer(std::move(lease)));
  }
  // It was this acquire's turn already: the daemon claims, as for an offer that comes later.
  const Offer offer{.name = lease.name,
                    .lease_id = lease.lease_id,
                    .token = lease.token,
                    .remaining = lease.remaining_ttl,
                    .ttl = lease.ttl,
                    .previous_lease_expired = lease.previous_lease_expired,
                    .attempt = request.attempt,
                    .keeper = request.keeper};
  observer_.OnWaitBegan();
  line_.Wait(request, Waiting{}, arrived, EndOfWait(request, arrived), std::move(done));
  line_.OnOffer(offer);
}

void LockManager::OnWaiting(AcquireRequest request, Instant arrived, const Waiting& place,
                            Done<AcquireAnswer> done) {
  const Instant end = EndOfWait(request, arrived);
  observer_.OnWaitBegan();
  line_.Wait(std::move(request), place, arrived, end, std::move(done));
  if (draining_) line_.StartDraining();
}

void LockManager::Abandon(const Keeper& keeper) {
  if (line_.GiveUp(keeper)) left_.insert(keeper);
}

// The rpc deadline bounds the wait, less what it takes to leave the line and to answer.
Instant LockManager::EndOfWait(const AcquireRequest& request, Instant arrived) const {
  const Instant end = arrived + request.wait_timeout;
  if (request.deadline == Instant::max()) return end;
  const auto left = std::chrono::duration_cast<Micros>(request.deadline - arrived);
  return std::min<Instant>(end, request.deadline - std::min<Micros>(kLeaveMarginMax, left / 10));
}

// Answers when it is known whether that worked or when the caller's time is up, whichever comes
// first.
void LockManager::CleanUpAfter(const AcquireRequest& request, absl::Status withdrawn,
                               absl::Status unknown, Done<AcquireAnswer> done) {
  const Instant deadline = StoreDeadline(request.deadline, kWholeShare);
  const Millis ended_by_itself = request.ttl + request.lock_delay;
  const Instant give_up =
      clock_.Now() + (request.wait_timeout > Millis(0) ? Line::kLeaveTriedFor : ended_by_itself);
  withdrawals_.Start({request.name, request.lease_id, request.attempt, request.keeper, deadline},
                     give_up,
                     [withdrawn = std::move(withdrawn), unknown = std::move(unknown),
                      done = std::move(done)](absl::StatusOr<WithdrawResult> result) mutable {
                       const bool is_withdrawn = result.ok() && *result != WithdrawResult::kKept;
                       std::move(done)(is_withdrawn ? std::move(withdrawn) : std::move(unknown));
                     });
}

Done<AcquireAnswer> LockManager::WithAssurance(AcquireRequest request, Done<AcquireAnswer> done) {
  return [this, request = std::move(request),
          done = std::move(done)](absl::StatusOr<AcquireAnswer> answer) mutable {
    const Lease* const lease = answer.ok() ? std::get_if<Lease>(&*answer) : nullptr;
    if (lease == nullptr || lease->assurance >= request.min_assurance) {
      return std::move(done)(std::move(answer));
    }
    CleanUpAfter(request,
                 Error(ErrorReason::kAssuranceNotReached,
                       "the store confirmed less than min_assurance asks"),
                 Error(ErrorReason::kOutcomeUnknown,
                       "the store confirmed less than min_assurance asks, and the grant could not "
                       "be taken back"),
                 std::move(done));
  };
}

void LockManager::Extend(ExtendRequest request, Done<Lease> done) {
  if (RefusesAdmission(done)) return;
  request.deadline = StoreDeadline(request.deadline, kWholeShare);
  if (line_.WasOffered(request.lease_id)) request.target = ExtendTarget::kOffer;
  store_.Extend(request, Counted(std::move(done)));
}

void LockManager::Release(ReleaseRequest request, Done<ReleaseAnswer> done) {
  if (RefusesAdmission(done)) return;
  request.deadline = StoreDeadline(request.deadline, kWholeShare);
  request.has_line = line_.HasWaiters(request.name);
  store_.Release(request, Counted(std::move(done)));
}

void LockManager::Fence(FenceRequest request, Done<FenceAnswer> done) {
  if (RefusesAdmission(done)) return;
  request.deadline = StoreDeadline(request.deadline, kWholeShare);
  store_.Fence(request, Counted(std::move(done)));
}

void LockManager::Withdraw(const Lease& lease, int32_t attempt, const Keeper& keeper) {
  const Instant now = clock_.Now();
  withdrawals_.Start({lease.name, lease.lease_id, attempt, keeper, now + options_.request_timeout},
                     now + lease.remaining_ttl, [](absl::StatusOr<WithdrawResult>) {});
}

void LockManager::ReleaseKept(std::string name, const LeaseId& lease_id, const Keeper& keeper,
                              Done<WithdrawResult> done) {
  if (RefusesAdmission(done)) return;
  WithdrawRequest request{
      std::move(name),        lease_id, 0, keeper, StoreDeadline(Instant::max(), kWholeShare),
      WithdrawScope::kRelease};
  request.in_line = line_.HasWaiters(request.name);
  store_.Withdraw(request, Counted(std::move(done)));
}

void LockManager::StartDraining() {
  draining_ = true;
  line_.StartDraining();
}

size_t LockManager::outstanding() const { return operations_ + withdrawals_.outstanding(); }

Instant LockManager::StoreDeadline(Instant rpc_deadline, double share) const {
  const Instant now = clock_.Now();
  auto budget = std::chrono::duration_cast<Micros>(options_.request_timeout);
  if (rpc_deadline - now < budget) {
    const auto left = std::chrono::duration_cast<Micros>(rpc_deadline - now);
    budget = left - std::min<Micros>(kReplyMarginMax, left / 10);
  }
  return now + std::chrono::duration_cast<Micros>(budget * share);
}

template <typename T>
bool LockManager::RefusesAdmission(Done<T>& done) {
  if (operations_ - line_.waiting() < limits::kOperationsOutstandingMax) return false;
  AnswerLater(Error(ErrorReason::kRateLimit, "more than " +
                                                 std::to_string(limits::kOperationsOutstandingMax) +
                                                 " operations are outstanding"),
              std::move(done));
  return true;
}

template <typename T>
Done<T> LockManager::Counted(Done<T> done) {
  ++operations_;
  return [this, done = std::move(done)](absl::StatusOr<T> answer) mutable {
    --operations_;
    std::move(done)(std::move(answer));
  };
}

Done<AcquireAnswer> LockManager::CountedWaiter(const std::string& principal,
                                               Done<AcquireAnswer> done) {
  ++operations_;
  // Stays where it is as long as somebody is counted there.
  auto* const waiters = &*waiters_by_principal_.try_emplace(principal, 0).first;
  ++waiters->second;
  return [this, waiters, done = std::move(done)](absl::StatusOr<AcquireAnswer> answer) mutable {
    --operations_;
    if (--waiters->second == 0) {
      waiters_by_principal_.erase(waiters_by_principal_.find(waiters->first));
    }
    std::move(done)(std::move(answer));
  };
}

void LockManager::OnWaitEnded(const Keeper& keeper, Instant arrived,
                              const absl::StatusOr<AcquireAnswer>& answer) {
  const bool left = left_.erase(keeper) > 0;
  observer_.OnWaitEnded(left ? WaitEnd::kCallerLeft : EndOf(answer),
                        std::chrono::duration_cast<Micros>(clock_.Now() - arrived));
  const Lease* lease = answer.ok() ? std::get_if<Lease>(&*answer) : nullptr;
  if (lease != nullptr && lease->previous_lease_expired) {
    observer_.OnExpiredLeaseReplaced(lease->name, lease->token);
  }
}

template <typename T>
void LockManager::AnswerLater(absl::Status error, Done<T> done) {
  executor_.Post([error = std::move(error), done = std::move(done)]() mutable {
    std::move(done)(std::move(error));
  });
}

}  // namespace lockkeeper::core
