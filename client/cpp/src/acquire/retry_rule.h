// SPDX-License-Identifier: Apache-2.0
//
// When a call is sent again, and after what delay. One rule for all blocking calls.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "renewal/backoff.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// Longest wait for the answer of one try, so that a daemon that hangs does not use up the whole
// call. A daemon answers in less, also while its store is away.
inline constexpr Duration kTryTimeout = std::chrono::seconds(3);

// Thread-safety: thread-compatible. Lifetime: borrows `jitter`.
class RetryRule {
 public:
  // `addresses`: how many there are to try, one after the other.
  RetryRule(Instant deadline, int addresses, Jitter& jitter);

  // Time that the next try may take at `now`, on top of which it may wait in line.
  Duration TryTimeout(Instant now) const;

  // Delay before sending again after a try that began at `began` and ended with `status`; nothing
  // if it must not be sent again: it is not UNAVAILABLE, RATE_LIMIT or a try without an answer, or
  // the deadline comes first. The next address is tried without delay until all were tried; a delay
  // that the server names is kept to. A try that lasted, as one that stood in line, begins a new
  // row of failures: its place in line is not to be lost by a long delay.
  std::optional<Duration> DelayAfter(const absl::Status& status, Instant began, Instant now);

 private:
  const Instant deadline_;
  const int addresses_;
  Jitter& jitter_;
  int failures_ = 0;
};

}  // namespace lockkeeper::client
