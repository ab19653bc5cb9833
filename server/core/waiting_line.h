// SPDX-License-Identifier: Apache-2.0
//
// The second port to the system of record, which not every store has: the store keeps a line of
// waiters for each lock, which all daemons share. For a store without one each daemon has lines of
// its own (local_fifo.h).
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
  int64_t line = 0;      // Identifies the line. After a loss the lock gets another one.
};

using AcquireOutcome = std::variant<Lease, Contention, Waiting>;

// A free lock that the store keeps for one waiter for about a second. An Extend of its lease id
// claims the offer: it becomes a lease. The store sends the offer to the waiter's daemon as a
// message. Messages may be lost, so Poll() returns the offer too.
struct Offer {
  std::string name;
  LeaseId lease_id;
  FencingToken token;
  Micros remaining{};
  Millis ttl{};
  bool previous_lease_expired = false;
  int32_t attempt = 0;  // Of the waiter.
  Keeper keeper;        // Of the waiter: only who knows it may decline the offer.
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
  int64_t line = 0;  // In which all waiters of this daemon stand. 0: see LocalLine::CommonLine.
  Instant deadline;
};

struct PollAnswer {
  Micros free_in{};
  int32_t waiters = 0;         // How many may be offered the lock. 0 while `unfinished`.
  bool unfinished = false;     // There is more to do than one step may: poll again at once.
  bool lost = false;           // The line was lost: its waiters have to stand again.
  std::optional<Offer> offer;  // The one that runs now, if it is to a waiter of this daemon.
};

// Completion, order, errors and threads: as LockStore.
class WaitingLine {
 public:
  virtual ~WaitingLine() = default;

  // Like LockStore::Acquire, but a request that cannot be granted joins the line, and the answer
  // says at which place. A repeat gets the place that it already has. `old_number`: the arrival
  // number that the request had in a line that the store has lost, and keeps in the new one; 0 if
  // there was none. Errors besides: WAITER_LIMIT.
  virtual void Stand(const AcquireRequest& request, int64_t old_number,
                     Done<AcquireOutcome> done) = 0;

  // Keeps this daemon's waiters in line, and offers the lock to the next one if that is due. A
  // daemon that has waiters polls at least once a second: one that has not polled for a few seconds
  // is taken for dead, and its waiters are passed over.
  virtual void Poll(const PollRequest& request, Done<PollAnswer> done) = 0;

  // The daemon stops. Its waiters are passed over from now on, but keep their places for retries at
  // other daemons.
  virtual void Leave(const std::string& name, Instant deadline) = 0;

  // Sets who is told of offers. Requires: called once, before the first Stand.
  virtual void Listen(LineListener& listener) = 0;
};

}  // namespace lockkeeper::core
