// SPDX-License-Identifier: Apache-2.0
//
// The port to the system of record. The domain owns it; server/redis implements it. One method is
// one atomic step on one lock, judged by the store's own clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "core/requests.h"

namespace lockkeeper::core {

template <typename T>
using Done = absl::AnyInvocable<void(absl::StatusOr<T>) &&>;

struct WithdrawResult {
  enum Kind {
    kWithdrawn,   // The grant was the keeper's and has been taken back, or released.
    kNotGranted,  // Nothing is granted to this attempt, and now nothing can be.
    kKept,        // The grant has another keeper, or none, or was claimed: it stays.
  };

  // NOLINTBEGIN(google-explicit-constructor): most results are their kind and no more
  WithdrawResult(Kind of) : kind(of) {}
  operator Kind() const { return kind; }
  // NOLINTEND(google-explicit-constructor)

  Kind kind;
  // Of kNotGranted: what there was to see of the lock from the place in line that was left. Its
  // position is 0 if there was no such place; it says nothing then.
  Contention seen;
};

// The place of an acquire that waits.
struct Waiting {
  int64_t number = 0;    // Arrival number: the order in which waiters are served.
  int32_t position = 0;  // 1 is next.
  Micros free_in{};      // Time until the lock can become free by itself.
  int64_t line = 0;      // Tells this line of the lock from a later one.
};

using AcquireOutcome = std::variant<Lease, Contention, Waiting>;

// What the store says to a daemon about a waiter of its own. A hint: Poll() finds it too.
struct Offer {
  std::string name;
  LeaseId lease_id;
  FencingToken token;
  Micros remaining{};
  Millis ttl{};
  bool previous_lease_expired = false;
  int32_t attempt = 0;  // Of the waiter, and
  Keeper keeper;        // who may decline.
  Assurance assurance = Assurance::kNone;
};

// Thread-safety: called on the loop's thread.
class LineListener {
 public:
  virtual ~LineListener() = default;

  // The lock is set aside for the waiter, for as long as the offer says.
  virtual void OnOffer(const Offer& offer) = 0;

  // The waiter's lease id was released: it has left the line.
  virtual void OnWaiterReleased(const std::string& name, const LeaseId& lease_id) = 0;
};

enum class PollMode {
  kWaiting,   // The daemon has waiters, and lives.
  kLeaving,   // The daemon stops: its waiters are passed over, but keep their places.
  kHandOver,  // The daemon has no waiters: only a hand-over has to go on.
};

struct PollRequest {
  std::string name;
  PollMode mode = PollMode::kWaiting;
  int64_t line = 0;         // That all waiters of this daemon stand in. 0: they do not.
  int64_t unpark_from = 0;  // Number from which on this daemon's parked waiters go back to their
                            // places. 0: they do not.
  Instant deadline;
};

struct PollAnswer {
  Micros free_in{};
  int32_t waiters = 0;         // In line, as far as they are not parked.
  bool parked = false;         // Waiters are parked, perhaps this daemon's: poll again and unpark.
  int64_t unpark_next = 0;     // Where unparking has to go on. 0: it is done.
  bool lost = false;           // The line was lost: its waiters have to acquire again.
  std::optional<Offer> offer;  // That runs now, to a waiter of this daemon.
};

// Carries out operations on locks.
//
// Completion: `done` runs exactly once, on the loop's thread, at the request's deadline at the
// latest, never before the call that started it returned.
// Order: operations on one lock take effect in the order of these calls.
// Errors, of every method: STORE_QUARANTINED (nothing may be granted, or the lease has to be
// proved, since the store may have forgotten leases), STORE_UNAVAILABLE (no effect, and there will
// be none), OUTCOME_UNKNOWN (may have had its effect, or may yet), STORE_CORRUPT, FORMAT_TOO_NEW.
// Thread-safety: loop-thread only.
class LockStore {
 public:
  virtual ~LockStore() = default;

  // With a wait_timeout the acquire stands in line if it cannot be granted, and the answer says
  // where; a repeat finds its place again. Errors: LEASE_ENDED, WAITER_LIMIT, RATE_LIMIT (too much
  // is asked of this lock: no effect, and there will be none), ASSURANCE_NOT_REACHED (the store
  // knows that it confirms less than min_assurance: no effect) besides.
  virtual void Acquire(const AcquireRequest& request, Done<AcquireOutcome> done) = 0;

  // Extends a lease, or claims an offer. Errors: LEASE_LOST besides.
  virtual void Extend(const ExtendRequest& request, Done<Lease> done) = 0;

  virtual void Release(const ReleaseRequest& request, Done<ReleaseAnswer> done) = 0;

  // Takes back a grant, an offer or a place in line.
  virtual void Withdraw(const WithdrawRequest& request, Done<WithdrawResult> done) = 0;

  virtual void Fence(const FenceRequest& request, Done<FenceAnswer> done) = 0;

  // Keeps this daemon's waiters in line, and hands the lock over if that is due.
  virtual void Poll(const PollRequest& request, Done<PollAnswer> done) = 0;

  // Who hears of offers. Requires: called once, before the first Acquire.
  virtual void ListenToLine(LineListener& listener) = 0;
};

// Looks at locks and breaks them, for administrators. Same contract as LockStore.
class AdminStore {
 public:
  virtual ~AdminStore() = default;

  // Nothing if the store has no record of the lock.
  virtual void Get(const std::string& name, Instant deadline,
                   Done<std::optional<LockInfo>> done) = 0;

  // Errors: INVALID_FIELD for a page token that this store did not make.
  virtual void List(const ListRequest& request, Done<LockPage> done) = 0;

  virtual void ForceRelease(const ForceReleaseRequest& request, Done<ForceReleaseAnswer> done) = 0;
};

}  // namespace lockkeeper::core
