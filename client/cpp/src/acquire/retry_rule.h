// SPDX-License-Identifier: Apache-2.0
//
// Whether a call is retried, and after what delay. One rule for all blocking calls.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "earlier_failure.h"
#include "renewal/backoff.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// Longest wait for the answer to one attempt, so that a daemon that hangs does not use up the whole
// call. A healthy daemon answers sooner, even while its store is away.
inline constexpr Duration kTryTimeout = std::chrono::seconds(3);

// Thread-safety: thread-compatible. Lifetime: borrows `jitter`.
class RetryRule {
 public:
  // `addresses`: how many there are to try, one after the other.
  RetryRule(Instant deadline, int addresses, Jitter& jitter);

  // How long an attempt at `now` may take, without its wait in line.
  Duration TryTimeout(Instant now) const;

  // The delay before the retry of an attempt that began at `began` and ended with `status`. Nothing
  // if there is no retry: `status` is neither UNAVAILABLE nor RATE_LIMIT nor a missing answer, or
  // the deadline comes first. The next address is tried without delay until all were tried. A delay
  // that the server asks for is kept. The delays start again from the first after an attempt that
  // lasted long, as in line: a long delay could cost it its place.
  std::optional<Duration> DelayAfter(const absl::Status& status, Instant began, Instant now);

  // The error of the last attempt, with the cause that attempts before were told.
  absl::Status Explain(const absl::Status& end) const { return earlier_.Explain(end); }

 private:
  const Instant deadline_;
  const int addresses_;
  Jitter& jitter_;
  int failures_ = 0;
  EarlierFailure earlier_;
};

}  // namespace lockkeeper::client
