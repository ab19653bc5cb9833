// SPDX-License-Identifier: Apache-2.0
#include "transport/session_policy.h"

#include "renewal/backoff.h"

namespace lockkeeper::client {

void SessionPolicy::Opened(Instant now) {
  opened_at_ = now;
  failures_ = 0;
}

void SessionPolicy::Ended(End end, Instant now, double jitter) {
  switch (end) {
    case End::kUnsupported:
      ++failures_;
      next_at_ = now + kPauseUnsupported;
      return;
    case End::kNotOpened:
      ++failures_;
      next_at_ = now + BackoffDelay(failures_, kPauseNotOpenedMax, jitter);
      return;
    case End::kCut:
      if (now - opened_at_ >= kSessionLifeMin) {
        short_sessions_ = 0;
      } else if (++short_sessions_ >= kShortSessionsMax) {
        ++failures_;
        next_at_ = now + kPauseAfterCuts;
      }
      return;
    case End::kRetired:
      return;
  }
}

}  // namespace lockkeeper::client
