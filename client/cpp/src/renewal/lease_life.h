// SPDX-License-Identifier: Apache-2.0
//
// Decides when a client renews a lease and when it counts it as lost. Pure: takes the time as an
// argument and returns what to do next. KeptLease carries it out.
#pragma once

#include "renewal/time.h"

namespace lockkeeper::client {

// How much earlier than the store the client counts a lease as over: 1 % because clocks run at
// different rates, and 50 ms because threads wake up late.
Duration LeaseMargin(Duration remaining_ttl);

// End of a lease whose request was sent at `sent` and answered with `remaining_ttl`.
Instant LeaseEnd(Instant sent, Duration remaining_ttl);

// Largest stop_margin of a lease: at least a twentieth of the ttl must lie between the regular
// renewal and the loss.
Duration StopMarginMax(Duration ttl);

struct LeaseTerms {
  Duration ttl{0};          // As granted.
  Duration max_hold{0};     // 0: none.
  Duration stop_margin{0};  // At most StopMarginMax.
};

// The result of one extend.
enum class ExtendOutcome {
  kExtended,
  kLeaseLost,  // The server says that the lease is no longer held.
  kNoAnswer,   // No answer in time, or UNAVAILABLE. It may have taken effect; retried soon.
  kRefused,    // Another error. Retried at the next regular time.
};

// State        | set by                  | next
// kept         | constructor             | an extend at `renew_at`, lost at `lost_at`
// kept, asking | ExtendSent              | the answer, lost at `lost_at`
// lost         | Lose, LEASE_LOST        | nothing
//
// Thread-safety: thread-compatible.
class LeaseLife {
 public:
  // What to do next, and when.
  enum class Due { kNothing, kExtend, kLose };
  struct Step {
    Due due;
    Instant at;
  };

  // A lease that was granted by a request sent at `sent`.
  LeaseLife(const LeaseTerms& terms, Instant sent, Duration remaining_ttl);

  Step Next() const;

  // Call when an extend is sent. Returns how long to wait for its answer: half of the time that is
  // left, so that a retry is possible after it.
  Duration ExtendSent(Instant now);

  // Call when the extend that was sent at `sent` is answered. An answer at or after lost_at, or
  // after the lease was lost, changes nothing. `jitter` is in [0, 1).
  void ExtendAnswered(Instant now, Instant sent, ExtendOutcome outcome, Duration remaining_ttl,
                      double jitter);

  // Marks the lease as lost if its time is up. Returns whether it is lost.
  bool LoseIfDue(Instant now);

  bool lost() const { return lost_; }
  // Whether an extend is in flight.
  bool asking() const { return asking_; }
  // Whether the lease has reached its max_hold, beyond which no extend moves the end.
  bool capped() const { return capped_; }
  // When the lease ends, and when it counts as lost.
  Instant end() const { return end_; }
  Instant lost_at() const { return end_ - terms_.stop_margin; }
  // Time until the end. Zero once the server has said that the lease is over.
  Duration Remaining(Instant now) const;

 private:
  const LeaseTerms terms_;
  Instant end_;
  Instant renew_at_;
  int failures_ = 0;
  bool asking_ = false;
  bool capped_ = false;  // At max_hold: extends cannot move the end any more.
  bool lost_ = false;
};

}  // namespace lockkeeper::client
