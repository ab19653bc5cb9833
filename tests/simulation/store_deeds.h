// SPDX-License-Identifier: Apache-2.0
//
// What a store does, as it is told to the judge: who joins a line, who gets a lock, who extends,
// releases and proves a lease. The judge itself hears of the store whose promises count; the server
// that was replaced by a failover has a listener of its own (Judge::ServerBefore).
#pragma once

#include <cstdint>
#include <string>

#include "core/requests.h"

namespace lockkeeper::simulation {

using core::Instant;
using core::Micros;

// One attempt of a call to get a lock.
struct Try {
  std::string lock;
  std::string lease_id;
  std::string keeper;  // Of the call. Its first half names the daemon.
  core::Assurance min_assurance = core::Assurance::kNone;
};

// A grant or an offer: the store gives the lock to an attempt.
struct Turn {
  Try to;
  int32_t attempt = 0;
  int64_t token = 0;
  bool offered = false;
  bool daemon_claims = false;  // The daemon claims the offer, not the client.
  Instant end;                 // End of the lease or the offer.
  Micros lock_delay{};         // As its acquire asked.
  bool max_hold = false;       // Its end is a time of the node's clock too.
  Micros hold_at_least{};      // As its acquire asked; if it was taken back, what is left of that.
  std::string given_by;        // The daemon whose script call gave it.
  Instant sent;                // When that daemon asked. Only of a store without a line.
  bool asserted = false;  // Proved by its holder after a loss, or adopted: no call can withdraw it.
};

// Withdrawn: nothing of the attempt is left. Released: nothing of the lease id is left.
// WithdrawalKept: another call has the grant; the place in line is left all the same if it is this
// call's. Declined: the daemon had no waiter for the offer.
class StoreDeeds {
 public:
  virtual ~StoreDeeds() = default;

  virtual void Joined(const Try& what, int64_t number, Instant now) = 0;
  // A first attempt stands in line, and later attempts find it there. Its lease id may have ended
  // before: a lock that has forgotten that does not reject first attempts.
  virtual void FirstAttemptStands(const Try& what) = 0;
  virtual void LeftLine(const std::string& lock, const std::string& lease_id, Instant now) = 0;
  // All waiters of a daemon are in their places in the line of a lock.
  virtual void InPlace(const std::string& daemon, const std::string& lock, Instant now) = 0;

  virtual void TurnGiven(Turn turn, Instant now) = 0;
  // An acquire was refused, since its lease id is void.
  virtual void FoundVoid(const std::string& lock, const std::string& lease_id, Instant now) = 0;
  virtual void Repeated(const Try& what, int32_t attempt, Instant now) = 0;
  virtual void Extended(const std::string& lock, const std::string& lease_id, Instant end,
                        Instant now) = 0;
  // A session has adopted the lease, and is its keeper from now on.
  virtual void Adopted(const Try& what) = 0;
  // The store has taken a proved lease back.
  virtual void Reasserted(Turn turn, Instant now) = 0;
  // A daemon has restored what it had told of a lease; nobody has proved it. `runs`: by this
  // daemon, else it restored only how long the lock stays closed.
  virtual void Restored(Turn turn, bool runs, Instant now) = 0;
  virtual void Fenced(const std::string& lock, int64_t token, bool admitted) = 0;

  virtual void Released(const std::string& lock, const std::string& lease_id, Instant now) = 0;
  // The end of a session has released a lease, because the session believed to be its keeper.
  virtual void ReleasedByEnd(const Try& what, Instant now) = 0;
  // A release was answered that its lease had expired, or that it stood in line.
  virtual void ReleaseDenied(const std::string& lock, const std::string& lease_id, Instant now) = 0;
  // The release that is reported next was answered that its lease id does not hold the lock. If the
  // lease id did hold it, the store cannot know whether the lease was live until then.
  virtual void ReleaseDoubted(const std::string& lock, const std::string& lease_id,
                              Instant now) = 0;
  virtual void Withdrawn(const Try& what, Instant now) = 0;
  virtual void WithdrawalKept(const Try& what, Instant now) = 0;

  virtual void Declined(const Try& what) = 0;
  // An offer was ended early, because its client has not claimed an earlier one.
  virtual void SetAside(const Try& what, Instant now) = 0;
  // An offer was ended early, because too little was confirmed of it more than once. Its waiter
  // stands again later.
  virtual void PassedOver(const Try& what, Instant now) = 0;
  // An offer was ended early, and its waiter is in its place again: too little was confirmed.
  virtual void PutBack(const Try& what, Instant now) = 0;
  // Of a lease that was claimed just now too little was confirmed.
  virtual void ClaimWithdrawn(const Try& what, Instant now) = 0;

  // A daemon has written a new epoch: nothing new may be granted until `quarantine_end`, and leases
  // from before must be proved.
  virtual void EpochBegan(Instant quarantine_end) = 0;
  // The quarantine was lengthened.
  virtual void QuarantineLasts(Instant end) = 0;
  // An administrator has ended it. Requires: it was needless when he asked for that.
  virtual void QuarantineEnded(Instant now) = 0;
  // All daemons have restored what they had told.
  virtual void QuarantineEndedEarly(Instant now) = 0;
};

}  // namespace lockkeeper::simulation
