// SPDX-License-Identifier: Apache-2.0
//
// The rules by which a client trusts, renews and gives up one lease. Pure: time comes in as an
// argument, and what is to be done goes out as a value. KeptLease carries it out.
#pragma once

#include "renewal/time.h"

namespace lockkeeper::client {

// What the client takes off each lease: 1 % for clocks that run at different rates, and 50 ms for
// threads that wake up late.
Duration LeaseMargin(Duration remaining_ttl);

// End of a lease whose request was sent at `sent` and answered with `remaining_ttl`.
Instant LeaseEnd(Instant sent, Duration remaining_ttl);

// Largest stop_margin of a lease: at least a twentieth of the ttl has to lie between the regular
// renewal and the loss.
Duration StopMarginMax(Duration ttl);

struct LeaseTerms {
  Duration ttl{0};          // As granted.
  Duration max_hold{0};     // 0: none.
  Duration stop_margin{0};  // At most StopMarginMax.
};

// What became of one extend.
enum class ExtendOutcome {
  kExtended,
  kLeaseLost,  // The server says that the lease is no longer held.
  kNoAnswer,   // None in time, or UNAVAILABLE: it may have had its effect, and is soon tried again.
  kRefused,    // Another error: tried again at the next regular time.
};

// State        | set by                  | next
// kept         | constructor             | an extend at `renew_at`, lost at `lost_at`
// kept, asking | ExtendSent              | the answer, lost at `lost_at`
// lost         | Lose, LEASE_LOST        | nothing
//
// Thread-safety: thread-compatible.
class LeaseLife {
 public:
  // What has to be done next, and when.
  enum class Due { kNothing, kExtend, kLose };
  struct Step {
    Due due;
    Instant at;
  };

  // A lease that was granted by a request sent at `sent`.
  LeaseLife(const LeaseTerms& terms, Instant sent, Duration remaining_ttl);

  Step Next() const;

  // An extend is sent now. Returns how long to wait for its answer: half of what is left, so that
  // another try fits in after it.
  Duration ExtendSent(Instant now);

  // The extend that was sent at `sent` is answered. An answer that comes at or after lost_at, or
  // after the lease was lost, changes nothing. `jitter` is in [0, 1).
  void ExtendAnswered(Instant now, Instant sent, ExtendOutcome outcome, Duration remaining_ttl,
                      double jitter);

  // Makes the lease lost if its time is up. Returns whether it is lost now.
  bool LoseIfDue(Instant now);

  bool lost() const { return lost_; }
  // Whether an extend is under way.
  bool asking() const { return asking_; }
  // Whether it has reached its max_hold, beyond which no extend moves the end.
  bool capped() const { return capped_; }
  // When the lease ends, and when it has to be called lost.
  Instant end() const { return end_; }
  Instant lost_at() const { return end_ - terms_.stop_margin; }
  // What is left until the end; zero when the server has said that the lease is over.
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
