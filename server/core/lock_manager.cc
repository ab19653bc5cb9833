// SPDX-License-Identifier: Apache-2.0
#include "core/lock_manager.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::core {
namespace {

// For how long a grant that is repeated is known (retry_window), and how many are at most. Beyond
// that a repeat counts as another grant.
constexpr std::chrono::minutes kRepeatsKnownFor{1};
constexpr size_t kRepeatsKnownMax = 10'000;

// What those who watch are told of an answer; see LockManager::Told.

// A grant or an offer, or else that a waiter has left the line.
bool HasAcquireEvent(const absl::StatusOr<AcquireAnswer>& answer, LockEvent& event) {
  if (!answer.ok()) return false;
  if (const auto* lease = std::get_if<Lease>(&*answer)) {
    event.kind = lease->offered ? LockEventKind::kOffered : LockEventKind::kGranted;
    AddLease(*lease, event);
    return true;
  }
  const ContentionReason why = std::get<Contention>(*answer).reason;
  return why == ContentionReason::kWaitTimedOut || why == ContentionReason::kCancelled;
}

bool IsLost(const absl::StatusOr<Lease>& lease, LockEvent& /*event*/) {
  return ReasonOf(lease.status()) == ErrorReason::kLeaseLost;
}

// Not of a heartbeat, whose client knows that it has the lease: only its loss is news.
bool HasExtendEvent(const absl::StatusOr<Lease>& lease, LockEvent& event) {
  if (!lease.ok()) return IsLost(lease, event);
  event.kind = LockEventKind::kExtended;
  AddLease(*lease, event);
  return true;
}

// A repeat finds nothing held. A waiter that was removed is told by the end of its acquire.
bool IsReleased(const absl::StatusOr<ReleaseAnswer>& answer, LockEvent& /*event*/) {
  return answer.ok() && answer->held > Micros(0);
}

bool IsKeptReleased(const absl::StatusOr<WithdrawResult>& result, LockEvent& /*event*/) {
  return result.ok() && *result == WithdrawResult::kWithdrawn;
}

}  // namespace

LockManager::LockManager(LockStore& store, Waiters& waiters, Withdrawals& withdrawals,
                         const Clock& clock, Executor& executor, LockObserver& observer,
                         LockManagerOptions options)
    : store_(store),
      waiters_(waiters),
      withdrawals_(withdrawals),
      clock_(clock),
      executor_(executor),
      observer_(observer),
      options_(options),
      waiters_per_principal_max_(options.waiters_per_principal_max),
      deadlines_(clock, options.request_timeout),
      replacements_told_(kRepeatsKnownFor) {}

void LockManager::Acquire(AcquireRequest request, Done<AcquireAnswer> done) {
  if (RefusesAdmission(done)) return;
  if (draining_) return AnswerLater(Draining(), std::move(done));
  if (request.wait_timeout > Millis(0)) {
    const auto waiters = waiters_by_principal_.find(request.principal);
    if (waiters != waiters_by_principal_.end() && waiters->second >= waiters_per_principal_max_) {
      return AnswerLater(
          Error(ErrorReason::kWaiterLimit, "at most " + std::to_string(waiters_per_principal_max_) +
                                               " acquires of one principal may wait at this daemon "
                                               "(waiters.per_principal_max)"),
          std::move(done));
    }
    done = CountedWaiter(request.principal, std::move(done));
  } else {
    done = CountedAcquire(std::move(done));
  }
  // Somebody may watch by the time that it is answered.
  if (request.wait_timeout > Millis(0) || observer_.IsWatched(request.name)) {
    done = Told(EventOf(LockEventKind::kLeft, request), HasAcquireEvent, std::move(done));
  }
  request.min_assurance = std::max(request.min_assurance, options_.min_assurance);
  if (request.min_assurance > Assurance::kNone) done = WithAssurance(request, std::move(done));
  waiters_.Acquire(std::move(request), std::move(done));
}

Done<AcquireAnswer> LockManager::WithAssurance(AcquireRequest request, Done<AcquireAnswer> done) {
  return [this, request = std::move(request),
          done = std::move(done)](absl::StatusOr<AcquireAnswer> answer) mutable {
    Lease* const lease = answer.ok() ? std::get_if<Lease>(&*answer) : nullptr;
    // An offer is confirmed already, and its claim will be.
    if (lease == nullptr || lease->offered) return std::move(done)(std::move(answer));
    const Instant deadline = deadlines_.OfGrant(request.deadline);
    const Assurance wanted = request.min_assurance;
    const Keeper keeper = request.keeper;
    confirming_.insert_or_assign(keeper, Confirming{std::move(request), std::move(done)});
    Confirm(std::move(*lease), wanted, deadline, [this, keeper](Lease confirmed) {
      auto waiting = confirming_.extract(keeper);
      if (waiting.empty()) return;  // Abandoned.
      auto& [asked, asked_done] = waiting.mapped();
      if (confirmed.assurance >= asked.min_assurance) {
        return std::move(asked_done)(AcquireAnswer(std::move(confirmed)));
      }
      withdrawals_.TakeBackUnconfirmed(asked, deadlines_.OfCall(asked.deadline),
                                       std::move(asked_done));
    });
  };
}

void LockManager::Abandon(const Keeper& keeper) {
  waiters_.Abandon(keeper);
  auto waiting = confirming_.extract(keeper);
  if (waiting.empty()) return;
  auto& [request, done] = waiting.mapped();
  withdrawals_.TakeBack(request, deadlines_.OfCall(request.deadline),
                        AcquireAnswer(Contention{.reason = ContentionReason::kCancelled}),
                        Error(ErrorReason::kOutcomeUnknown,
                              "the caller is gone, and the grant could not be taken back"),
                        std::move(done));
}

void LockManager::Confirm(Lease lease, Assurance wanted, Instant deadline, LeaseDone next) {
  if (lease.assurance >= wanted) return std::move(next)(std::move(lease));
  auto kept = std::make_unique<Lease>(std::move(lease));
  const std::string& name = kept->name;
  store_.Confirm(name, wanted, deadline,
                 [kept = std::move(kept), next = std::move(next)](Assurance confirmed) mutable {
                   kept->assurance = std::max(kept->assurance, confirmed);
                   std::move(next)(std::move(*kept));
                 });
}

void LockManager::Extend(ExtendRequest request, Done<Lease> done) {
  if (RefusesAdmission(done)) return;
  if (observer_.IsWatched(request.name)) {
    done = Told(EventOf(LockEventKind::kLost, request),
                request.is_heartbeat ? IsLost : HasExtendEvent, std::move(done));
  }
  const Instant rpc_deadline = request.deadline;
  request.deadline = deadlines_.OfCall(rpc_deadline);
  ++operations_;
  store_.Extend(request, [this, rpc_deadline, is_heartbeat = request.is_heartbeat,
                          done = std::move(done)](absl::StatusOr<Lease> lease) mutable {
    if (lease.ok() && !is_heartbeat) {
      const Assurance wanted = std::max(options_.min_assurance, lease->asked);
      if (lease->assurance < wanted || lease->asked > Assurance::kNone) {
        return ConfirmExtended(*std::move(lease), wanted, rpc_deadline, std::move(done));
      }
    }
    --operations_;
    if (lease.ok() && lease->claimed) OnGranted(*lease);
    std::move(done)(std::move(lease));
  });
}

void LockManager::ConfirmExtended(Lease lease, Assurance wanted, Instant rpc_deadline,
                                  Done<Lease> done) {
  Confirm(std::move(lease), wanted, deadlines_.OfGrant(rpc_deadline),
          [this, rpc_deadline, done = std::move(done)](Lease confirmed) mutable {
            if (confirmed.assurance < confirmed.asked) {
              return TakeBackClaim(confirmed, deadlines_.OfCall(rpc_deadline), std::move(done));
            }
            if (confirmed.asked > Assurance::kNone) LetClaimStand(confirmed);
            --operations_;
            if (confirmed.claimed) OnGranted(confirmed);
            std::move(done)(std::move(confirmed));
          });
}

// So that the next extend need not be confirmed for its client to hear of it. If this is lost it
// is.
void LockManager::LetClaimStand(const Lease& lease) {
  store_.Withdraw({.name = lease.name,
                   .lease_id = lease.lease_id,
                   .deadline = clock_.Now() + options_.request_timeout,
                   .scope = WithdrawScope::kLetClaimStand,
                   .token = lease.token},
                  [](absl::StatusOr<WithdrawResult>) {});
}

void LockManager::TakeBackClaim(const Lease& lease, Instant deadline, Done<Lease> done) {
  withdrawals_.Start({.name = lease.name,
                      .lease_id = lease.lease_id,
                      .deadline = deadline,
                      .scope = WithdrawScope::kClaim,
                      .token = lease.token},
                     clock_.Now() + lease.remaining_ttl,
                     [this, done = std::move(done)](absl::StatusOr<WithdrawResult> result) mutable {
                       --operations_;
                       const bool is_withdrawn =
                           result.ok() && *result == WithdrawResult::kWithdrawn;
                       std::move(done)(is_withdrawn ? Unconfirmed() : UnconfirmedAndNotTakenBack());
                     });
}

void LockManager::Release(ReleaseRequest request, Done<ReleaseAnswer> done) {
  if (RefusesAdmission(done)) return;
  if (observer_.IsWatched(request.name)) {
    done = Told(EventOf(LockEventKind::kReleased, request), IsReleased, std::move(done));
  }
  request.deadline = deadlines_.OfCall(request.deadline);
  ++operations_;
  waiters_.Release(request,
                   [this, done = std::move(done)](absl::StatusOr<ReleaseAnswer> answer) mutable {
                     --operations_;
                     if (answer.ok() && answer->held > Micros(0))
                       observer_.OnReleased(answer->held);
                     std::move(done)(std::move(answer));
                   });
}

void LockManager::Fence(FenceRequest request, Done<FenceAnswer> done) {
  if (RefusesAdmission(done)) return;
  request.deadline = deadlines_.OfCall(request.deadline);
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
      std::move(name),        lease_id, 0, keeper, deadlines_.OfCall(Instant::max()),
      WithdrawScope::kRelease};
  if (observer_.IsWatched(request.name)) {
    done = Told(EventOf(LockEventKind::kReleased, request), IsKeptReleased, std::move(done));
  }
  store_.Withdraw(
      request, Counted<WithdrawResult>(
                   [this, done = std::move(done)](absl::StatusOr<WithdrawResult> result) mutable {
                     if (result.ok() && result->held > Micros(0))
                       observer_.OnReleased(result->held);
                     std::move(done)(std::move(result));
                   }));
}

void LockManager::StartDraining() {
  draining_ = true;
  waiters_.StartDraining();
}

size_t LockManager::outstanding() const { return operations_ + withdrawals_.outstanding(); }

template <typename T>
bool LockManager::RefusesAdmission(Done<T>& done) {
  if (under_way() < limits::kOperationsOutstandingMax) return false;
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

Done<AcquireAnswer> LockManager::CountedAcquire(Done<AcquireAnswer> done) {
  ++operations_;
  return [this, done = std::move(done)](absl::StatusOr<AcquireAnswer> answer) mutable {
    OnAcquired(answer);
    std::move(done)(std::move(answer));
  };
}

Done<AcquireAnswer> LockManager::CountedWaiter(const std::string& principal,
                                               Done<AcquireAnswer> done) {
  ++operations_;
  // Map nodes do not move; this one is erased when its count reaches 0.
  auto* const waiters = &*waiters_by_principal_.try_emplace(principal, 0).first;
  ++waiters->second;
  return [this, waiters, done = std::move(done)](absl::StatusOr<AcquireAnswer> answer) mutable {
    if (--waiters->second == 0) {
      waiters_by_principal_.erase(waiters_by_principal_.find(waiters->first));
    }
    OnAcquired(answer);
    std::move(done)(std::move(answer));
  };
}

void LockManager::OnAcquired(const absl::StatusOr<AcquireAnswer>& answer) {
  --operations_;
  const Lease* const lease = answer.ok() ? std::get_if<Lease>(&*answer) : nullptr;
  if (lease != nullptr && !lease->offered) OnGranted(*lease);
}

void LockManager::OnGranted(const Lease& lease) {
  if (!lease.previous_lease_expired) return;
  const Instant now = clock_.Now();
  const FencingToken* const told = replacements_told_.Find(lease.lease_id, now);
  if (told != nullptr && *told == lease.token) return;
  if (replacements_told_.size(now) < kRepeatsKnownMax) {
    replacements_told_.Put(lease.lease_id, lease.token, now);
  }
  observer_.OnExpiredLeaseReplaced(lease.name, lease.token);
}

template <typename T, typename Happened>
Done<T> LockManager::Told(LockEvent event, Happened happened, Done<T> done) {
  return [this, event = std::move(event), happened = std::move(happened),
          done = std::move(done)](absl::StatusOr<T> answer) mutable {
    if (observer_.IsWatched(event.name) && happened(answer, event)) {
      observer_.OnEvent(std::move(event));
    }
    std::move(done)(std::move(answer));
  };
}

template <typename T>
void LockManager::AnswerLater(absl::Status error, Done<T> done) {
  executor_.Post([error = std::move(error), done = std::move(done)]() mutable {
    std::move(done)(std::move(error));
  });
}

}  // namespace lockkeeper::core
