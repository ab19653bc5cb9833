// SPDX-License-Identifier: Apache-2.0
//
// The port to the system of record: what every store can do. The domain owns it; server/redis
// implements it. One method is one atomic step on one lock, judged by the store's own clock.
// Waiting in line is a port of its own (waiting_line.h), which a store need not have.
#pragma once

#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "core/requests.h"

namespace lockkeeper::core {

template <typename T>
using Done = absl::AnyInvocable<void(absl::StatusOr<T>) &&>;

using ConfirmDone = absl::AnyInvocable<void(Assurance confirmed) &&>;

struct WithdrawResult {
  enum Kind {
    kWithdrawn,   // The grant was the keeper's and has been taken back, put back or released.
    kNotGranted,  // Nothing is granted to this attempt, and now nothing can be.
    kKept,        // The grant has another keeper, or none, or was claimed: it stays.
  };

  // NOLINTBEGIN(google-explicit-constructor): most results are their kind and no more
  WithdrawResult(Kind of) : kind(of) {}
  operator Kind() const { return kind; }
  // NOLINTEND(google-explicit-constructor)

  Kind kind;
  // Of kNotGranted: the state of the lock, as seen from the place in line that was left. If its
  // position is 0, there was no such place, and the rest is not set.
  Contention seen;
  Micros held{};  // Of a lease that was released (WithdrawScope::kRelease): how long it was held.
};

// Carries out operations on locks.
//
// Completion: `done` runs exactly once, on the loop's thread, at the request's deadline at the
// latest, never before the call that started it returned.
// Order: operations on one lock take effect in the order of these calls.
// Lifetime: an operation that has had no effect by LockManagerOptions::call_lifetime after its call
// will have none.
// Errors, of every method: STORE_QUARANTINED (nothing may be granted, or the lease has to be
// proved, since the store may have forgotten leases), STORE_UNAVAILABLE (no effect, and there will
// be none), OUTCOME_UNKNOWN (may have had its effect, or may yet), STORE_CORRUPT, FORMAT_TOO_NEW.
// Thread-safety: loop-thread only.
class LockStore {
 public:
  virtual ~LockStore() = default;

  // Grants the lock if it is free now; ignores wait_timeout. The lease says what the store
  // confirms by its answer, see Confirm(), and carries a proof of itself if the store may forget
  // it. Errors besides: LEASE_ENDED; RATE_LIMIT (the lock has too many operations: no effect, and
  // there will be none); ASSURANCE_NOT_REACHED (the store knows that it cannot confirm as much as
  // min_assurance now: no effect).
  virtual void Acquire(const AcquireRequest& request, Done<AcquireAnswer> done) = 0;

  // Extends a lease, or claims an offer. Errors besides: LEASE_LOST.
  virtual void Extend(const ExtendRequest& request, Done<Lease> done) = 0;

  virtual void Release(const ReleaseRequest& request, Done<ReleaseAnswer> done) = 0;

  // Waits until the store has confirmed what it had answered for the lock before this call, as far
  // as `wanted` asks. Answers how much is confirmed, by `deadline` at the latest: less than
  // `wanted` if that was not reached. No errors.
  virtual void Confirm(const std::string& name, Assurance wanted, Instant deadline,
                       ConfirmDone done) = 0;

  // Takes back a grant, an offer or a place in line.
  virtual void Withdraw(const WithdrawRequest& request, Done<WithdrawResult> done) = 0;

  virtual void Fence(const FenceRequest& request, Done<FenceAnswer> done) = 0;
};

// What administrators do: read locks, end leases, end quarantines. Same contract as LockStore, but
// the deadlines are those of the rpcs: the store answers before them, as the lock manager lets it
// answer lock calls (call_deadlines.h).
class AdminStore {
 public:
  virtual ~AdminStore() = default;

  // Nothing if the store has no record of the lock.
  virtual void Get(const std::string& name, Instant deadline,
                   Done<std::optional<LockInfo>> done) = 0;

  // Errors: INVALID_FIELD for a page token that this store did not make.
  virtual void List(const ListRequest& request, Done<LockPage> done) = 0;

  virtual void ForceRelease(const ForceReleaseRequest& request, Done<ForceReleaseAnswer> done) = 0;

  // Ends the quarantine of this epoch before its time: all daemons grant new leases. Leases that
  // were not proved by then have ended. Changes nothing if no quarantine of this epoch runs.
  virtual void EndQuarantine(const EndQuarantineRequest& request,
                             Done<EndQuarantineAnswer> done) = 0;
};

}  // namespace lockkeeper::core
