// SPDX-License-Identifier: Apache-2.0
#include "acquire/retry_rule.h"

#include <algorithm>

#include "lockkeeper/error.h"

namespace lockkeeper::client {

RetryRule::RetryRule(Instant deadline, int addresses, Jitter& jitter)
    : deadline_(deadline), addresses_(addresses), jitter_(jitter) {}

Duration RetryRule::TryTimeout(Instant now) const {
  return std::max<Duration>(std::min<Duration>(deadline_ - now, kTryTimeout),
                            std::chrono::milliseconds(1));
}

std::optional<Duration> RetryRule::DelayAfter(const absl::Status& status, Instant began,
                                              Instant now) {
  earlier_.Note(status);
  const bool may_pass = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
                        ReasonOf(status) == ErrorReason::kRateLimit;
  if (!may_pass) return std::nullopt;
  if (now - began > kBackoffMax) failures_ = 0;
  ++failures_;
  Duration delay{0};
  if (failures_ % addresses_ == 0) {
    delay = BackoffDelay(failures_ / addresses_, kBackoffMax, jitter_.Next());
  }
  if (const auto asked = RetryDelayOf(status)) delay = std::max<Duration>(delay, *asked);
  if (now + delay >= deadline_) return std::nullopt;
  return delay;
}

}  // namespace lockkeeper::client
