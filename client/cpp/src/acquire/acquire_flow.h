// SPDX-License-Identifier: Apache-2.0
//
// One acquire from the first try to a definite answer, or to the point where the caller's time is
// up. Knows the rules of repeating; how to talk to a daemon is behind AcquireCalls.
#pragma once

#include <variant>

#include "absl/status/statusor.h"
#include "lockkeeper/acquire_result.h"
#include "renewal/backoff.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// A lease, or an offer that has to be claimed.
struct Granted {
  Grant grant;
  Duration remaining_ttl{0};
  bool offered = false;
};

using AcquireAnswer = std::variant<Granted, Contention>;

// What an acquire needs from the world. All calls are about one lease id at a time, and block.
class AcquireCalls {
 public:
  virtual ~AcquireCalls() = default;

  // UNAVAILABLE or DEADLINE_EXCEEDED: worth another try. `timeout` includes the wait.
  virtual absl::StatusOr<AcquireAnswer> Acquire(int attempt, Duration wait_timeout,
                                                Duration timeout) = 0;

  // Claims the offer by an extend. LEASE_LOST: the offer has lapsed.
  virtual absl::StatusOr<Granted> Claim(Duration timeout) = 0;

  // Uses the next address from now on: this one did not serve.
  virtual void TryElsewhere(const absl::Status& why) = 0;

  // Goes on with a new lease id. False: the caller chose the one that is used up.
  virtual bool TakeNewLeaseId() = 0;

  // Waits before the next try. False: the caller cancelled meanwhile.
  virtual bool Pause(Duration delay) = 0;
};

struct AcquireLimits {
  Duration wait_timeout{0};
  Duration call_timeout{0};
  int addresses = 1;
};

struct AcquireEnd {
  absl::StatusOr<AcquireAnswer> answer;
  // When the request was sent from whose answer the lease's end is counted.
  Instant sent;
  // True if a try may have been granted, or may still stand in line, without our knowing: the lease
  // id has to be released.
  bool unresolved = false;
};

// Every try has the next attempt's number and what is left of the wait; a daemon that does not
// serve is left for the next address. An offer that lapsed is no failure of its daemon: the acquire
// goes on waiting there. A contention that ends a wait says kWaitTimedOut, also if the last try had
// no time left to wait. A retry that finds its lease id used up, or forgotten by a lock that
// changes hands often, goes on with a new one.
AcquireEnd RunAcquire(AcquireCalls& calls, const AcquireLimits& limits, const Clock& clock,
                      Jitter& jitter);

}  // namespace lockkeeper::client
