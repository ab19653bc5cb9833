// SPDX-License-Identifier: Apache-2.0
//
// The domain's front door. Gives each request a deadline, sends it to the store, lets acquires wait
// (waiters.h), and withdraws acquires whose callers are gone (withdrawals.h).
// docs/internals/life_of_a_request.md shows the way here.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "core/call_deadlines.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/expiring_map.h"
#include "core/limits.h"
#include "core/lock_observer.h"
#include "core/lock_store.h"
#include "core/requests.h"
#include "core/waiters.h"
#include "core/withdrawals.h"

namespace lockkeeper::core {

struct LockManagerOptions {
  // Longest time that a request waits for the store; a shorter rpc deadline wins.
  Millis request_timeout{1000};
  // For how long after it was sent the store may still execute a call.
  Millis call_lifetime{2000};
  // The least that the store has to confirm of every lease; a request may ask for more. Grants of
  // which it confirms less are taken back. Extends of which it does stand, and say so.
  Assurance min_assurance = Assurance::kNone;
  // Acquires of one principal that wait, or may have to.
  size_t waiters_per_principal_max = limits::kWaitersPerPrincipalDefault;
};

// Completion: every `done` runs exactly once, on the loop's thread, never before the call
// returned, and before the request's rpc deadline.
// Requires: requests have passed Validate().
// Thread-safety: loop-thread only.
// Lifetime: borrows its collaborators.
class LockManager {
 public:
  // `waiters` and `withdrawals`: of the same store.
  LockManager(LockStore& store, Waiters& waiters, Withdrawals& withdrawals, const Clock& clock,
              Executor& executor, LockObserver& observer, LockManagerOptions options);

  // Errors: those of LockService.Acquire. After OUTCOME_UNKNOWN the grant, if any, is being
  // withdrawn, unless a later attempt waits in its place. After SERVER_DRAINING a waiter keeps its
  // place in the line of the store.
  void Acquire(AcquireRequest request, Done<AcquireAnswer> done);

  void Extend(ExtendRequest request, Done<Lease> done);
  void Release(ReleaseRequest request, Done<ReleaseAnswer> done);
  void Fence(FenceRequest request, Done<FenceAnswer> done);

  // Takes back a grant whose answer did not reach its caller. Does nothing if a retry of the
  // caller has it by now. Kept trying in the background until the lease has ended.
  void Withdraw(const Lease& lease, int32_t attempt, const Keeper& keeper);

  // Releases a lease that a session has kept until its end, if `keeper` still keeps it: nobody else
  // has adopted it or acquired it again. kKept if not, or if it has ended.
  void ReleaseKept(std::string name, const LeaseId& lease_id, const Keeper& keeper,
                   Done<WithdrawResult> done);

  // The caller of an acquire is gone: one that may wait leaves the line, or does not join it; a
  // grant that the store has not confirmed yet is taken back. Its `done` still runs.
  void Abandon(const Keeper& keeper);

  // Of acquires that come from now on; those that wait stay.
  void SetWaitersPerPrincipalMax(size_t most) { waiters_per_principal_max_ = most; }

  // From now on acquires answer SERVER_DRAINING, those that wait too; everything else goes on.
  void StartDraining();

  // Operations and withdrawals that have not ended.
  size_t outstanding() const;

  // Operations that the store has to answer: without acquires that stand in line.
  size_t under_way() const { return operations_ - waiters_.waiting(); }

  // Acquires that stand in line.
  size_t waiting() const { return waiters_.waiting(); }

 private:
  // Takes a lease back that the store confirms less of than the request asks (min_assurance).
  Done<AcquireAnswer> WithAssurance(AcquireRequest request, Done<AcquireAnswer> done);
  // Lets the store confirm a lease as far as is `wanted`. The lease then says how much it did.
  using LeaseDone = absl::AnyInvocable<void(Lease) &&>;
  void Confirm(Lease lease, Assurance wanted, Instant deadline, LeaseDone next);
  // Whatever is confirmed of it, an extended lease runs. A claim is a grant: it is taken back if
  // too little is confirmed and nobody was told of the lease since. Both end an operation.
  void ConfirmExtended(Lease lease, Assurance wanted, Instant rpc_deadline, Done<Lease> done);
  void LetClaimStand(const Lease& lease);
  void TakeBackClaim(const Lease& lease, Instant deadline, Done<Lease> done);

  // Rejects the operation, and returns true, if too many are outstanding.
  template <typename T>
  bool RefusesAdmission(Done<T>& done);
  template <typename T>
  Done<T> Counted(Done<T> done);
  // The same for acquires, and for those that may wait.
  Done<AcquireAnswer> CountedAcquire(Done<AcquireAnswer> done);
  Done<AcquireAnswer> CountedWaiter(const std::string& principal, Done<AcquireAnswer> done);
  void OnAcquired(const absl::StatusOr<AcquireAnswer>& answer);
  // The caller is told that it has this lease, perhaps again.
  void OnGranted(const Lease& lease);
  // Whoever watches the lock then is told of `event` before the caller, if `happened` says so of
  // the answer. It may add to the event what the answer says.
  template <typename T, typename Happened>
  Done<T> Told(LockEvent event, Happened happened, Done<T> done);
  template <typename T>
  void AnswerLater(absl::Status error, Done<T> done);

  LockStore& store_;
  Waiters& waiters_;
  Withdrawals& withdrawals_;
  const Clock& clock_;
  Executor& executor_;
  LockObserver& observer_;
  const LockManagerOptions options_;
  size_t waiters_per_principal_max_;
  const CallDeadlines deadlines_;
  // Acquires without an answer that may wait.
  std::unordered_map<std::string, size_t> waiters_by_principal_;
  // Grants that the store has to confirm, by the keepers of their acquires.
  struct Confirming {
    AcquireRequest request;
    Done<AcquireAnswer> done;
  };
  std::unordered_map<Keeper, Confirming, HashOfHexId> confirming_;
  // Grants after an expired lease that the observer was told of, for as long as they are repeated.
  ExpiringMap<LeaseId, FencingToken, HashOfHexId> replacements_told_;
  size_t operations_ = 0;
  bool draining_ = false;
};

}  // namespace lockkeeper::core
