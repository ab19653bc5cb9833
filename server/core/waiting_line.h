// SPDX-License-Identifier: Apache-2.0
//
// The second port to the system of record, which not every store has: a line of waiters for each
// lock, one for all daemons, kept by the store. Who waits for a lock of a store without one stands
// in a line of this daemon (local_fifo.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/lock_store.h"
#include "core/requests.h"

namespace lockkeeper::core {

// The place of an acquire that waits.
struct Waiting {
  int64_t number = 0;    // Arrival number: the order in which waiters are served.
  int32_t position = 0;  // 1 is next.
  Micros free_in{};      // Time until the lock can become free by itself.
  int64_t line = 0;      // Tells this line of the lock from a later one.
};

using AcquireOutcome = std::variant<Lease, Contention, Waiting>;

// The store sets a free lock aside for a waiter, until it claims the lock by an Extend. The store
// tells it to the waiter's daemon by a message, which may be lost: Poll() finds it too.
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

  virtual void OnOffer(const Offer& offer) = 0;

  // The waiter's lease id was released: it has left the line.
  virtual void OnWaiterReleased(const std::string& name, const LeaseId& lease_id) = 0;
};

struct PollRequest {
  std::string name;
  int64_t line = 0;  // That all waiters of this daemon stand in. 0: they do not.
  Instant deadline;
};

struct PollAnswer {
  Micros free_in{};
  int32_t waiters = 0;         // That may be offered the lock. 0 as long as it is unfinished.
  bool unfinished = false;     // There is more to do than one step may: poll again at once.
  bool lost = false;           // The line was lost: its waiters have to stand again.
  std::optional<Offer> offer;  // That runs now, to a waiter of this daemon.
};

// Completion, order, errors and threads: as LockStore.
class WaitingLine {
 public:
  virtual ~WaitingLine() = default;

  // As LockStore::Acquire, but a request that cannot be granted stands in line, and the answer says
  // where. A repeat finds its place again. `old_number`: that it had in a line that was lost, and
  // takes along; 0: none. Errors: WAITER_LIMIT besides.
  virtual void Stand(const AcquireRequest& request, int64_t old_number,
                     Done<AcquireOutcome> done) = 0;

  // Keeps this daemon's waiters in line, and offers the lock to the next one if that is due. A
  // daemon that has waiters polls at least once a second: one that has not polled for a few seconds
  // is taken for dead, and its waiters are passed over.
  virtual void Poll(const PollRequest& request, Done<PollAnswer> done) = 0;

  // The daemon stops: its waiters are passed over from now on, but keep their places for retries
  // over other daemons.
  virtual void Leave(const std::string& name, Instant deadline) = 0;

  // Who hears of offers. Requires: called once, before the first Stand.
  virtual void Listen(LineListener& listener) = 0;
};

}  // namespace lockkeeper::core
