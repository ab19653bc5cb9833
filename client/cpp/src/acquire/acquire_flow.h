// SPDX-License-Identifier: Apache-2.0
//
// One acquire, from the first attempt to a definite answer, or until the caller's time is up. Has
// the rules of retrying; AcquireCalls talks to the daemons.
#pragma once

#include <variant>

#include "absl/status/statusor.h"
#include "lockkeeper/acquire_result.h"
#include "renewal/backoff.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// A lease, or an offer that must be claimed.
struct Granted {
  Grant grant;
  Duration remaining_ttl{0};
  bool offered = false;
};

using AcquireAnswer = std::variant<Granted, Contention>;

// The calls that an acquire makes. They block. At any time all are about one lease id.
class AcquireCalls {
 public:
  virtual ~AcquireCalls() = default;

  // UNAVAILABLE and DEADLINE_EXCEEDED are retryable. `timeout` includes the wait.
  virtual absl::StatusOr<AcquireAnswer> Acquire(int attempt, Duration wait_timeout,
                                                Duration timeout) = 0;

  // Claims the offer by an extend. LEASE_LOST: the offer has lapsed.
  virtual absl::StatusOr<Granted> Claim(Duration timeout) = 0;

  // Moves on to the next address, because this one did not serve.
  virtual void TryElsewhere(const absl::Status& why) = 0;

  // Continues with a new lease id. False if the caller chose the id that is used up.
  virtual bool TakeNewLeaseId() = 0;

  // Waits before the next attempt. False if the caller cancelled meanwhile.
  virtual bool Pause(Duration delay) = 0;
};

struct AcquireLimits {
  Duration wait_timeout{0};
  Duration call_timeout{0};
  int addresses = 1;
};

struct AcquireEnd {
  absl::StatusOr<AcquireAnswer> answer;
  // When the request was sent whose answer counts: the lease's end is counted from here.
  Instant sent;
  // True if an attempt without an answer may have been granted, or may still stand in line. Then
  // the lease id must be released.
  bool unresolved = false;
};

// Every attempt has the next number and the rest of the wait. If a daemon does not serve, the next
// address is used. A lapsed offer is no failure of its daemon: the acquire continues to wait there.
// A contention at the end of a wait has the reason kWaitTimedOut, even if the last attempt had no
// time left to wait. If a retry finds its lease id used up, or forgotten by a lock that changes
// hands often, the acquire continues with a new lease id.
AcquireEnd RunAcquire(AcquireCalls& calls, const AcquireLimits& limits, const Clock& clock,
                      Jitter& jitter);

}  // namespace lockkeeper::client
