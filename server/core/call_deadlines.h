// SPDX-License-Identifier: Apache-2.0
//
// How long the store gets for a call, so that our answer reaches the caller in time.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/clock.h"
#include "core/requests.h"

namespace lockkeeper::core {

// Thread-safety: as the clock's. Lifetime: borrows it.
class CallDeadlines {
 public:
  // `request_timeout`: the longest that a call waits for the store; a shorter rpc deadline wins.
  CallDeadlines(const Clock& clock, Millis request_timeout)
      : clock_(clock), request_timeout_(request_timeout) {}

  // By when the store must have answered a call that begins now.
  Instant OfCall(Instant rpc_deadline) const { return Share(rpc_deadline, 1.0); }

  // The same for a grant. The rest of the time is for taking it back if the answer does not come,
  // so that the caller hears whether that worked.
  Instant OfGrant(Instant rpc_deadline) const { return Share(rpc_deadline, kGrantShare); }

  // The same for a call that asks the store often: as long as the caller waits.
  Instant OfSeries(Instant rpc_deadline) const {
    if (rpc_deadline == Instant::max()) return rpc_deadline;
    return LessReplyMargin(clock_.Now(), rpc_deadline);
  }

  // When a wait ends: the rpc deadline bounds it, less what it takes to leave the line and to
  // answer. `request.deadline` is that of the rpc.
  static Instant OfWait(const AcquireRequest& request, Instant arrived) {
    const Instant end = arrived + request.wait_timeout;
    if (request.deadline == Instant::max()) return end;
    const auto left = std::chrono::duration_cast<Micros>(request.deadline - arrived);
    return std::min<Instant>(end, request.deadline - std::min<Micros>(kLeaveMarginMax, left / 10));
  }

 private:
  static constexpr double kGrantShare = 0.6;
  // Kept back from the rpc deadline, so that our answer arrives before it: a tenth of what is left,
  // at most this.
  static constexpr Millis kReplyMarginMax{20};
  // The same for a wait, whose end takes a trip to the store.
  static constexpr Millis kLeaveMarginMax{250};

  Instant Share(Instant rpc_deadline, double share) const {
    const Instant now = clock_.Now();
    auto budget = std::chrono::duration_cast<Micros>(request_timeout_);
    if (rpc_deadline - now < budget) {
      budget = std::chrono::duration_cast<Micros>(LessReplyMargin(now, rpc_deadline) - now);
    }
    return now + std::chrono::duration_cast<Micros>(budget * share);
  }

  static Instant LessReplyMargin(Instant now, Instant rpc_deadline) {
    const auto left = std::chrono::duration_cast<Micros>(rpc_deadline - now);
    return now + left - std::min<Micros>(kReplyMarginMax, left / 10);
  }

  const Clock& clock_;
  const Millis request_timeout_;
};

}  // namespace lockkeeper::core
