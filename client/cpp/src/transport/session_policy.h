// SPDX-License-Identifier: Apache-2.0
//
// Decides whether to open a session to a daemon. Pure: takes the time as an argument.
#pragma once

#include "renewal/time.h"

namespace lockkeeper::client {

// A stream that lived so long was useful, even if it was cut then: proxies cut streams after a
// minute, or after hours.
inline constexpr Duration kSessionLifeMin = std::chrono::seconds(10);
// After so many shorter streams in a row, streams are assumed to be cut here.
inline constexpr int kShortSessionsMax = 3;
// How long unary calls are used after that.
inline constexpr Duration kPauseAfterCuts = std::chrono::minutes(1);
// The same for a server that does not know sessions.
inline constexpr Duration kPauseUnsupported = std::chrono::minutes(5);
// Longest time between attempts that opened no session.
inline constexpr Duration kPauseNotOpenedMax = std::chrono::minutes(1);

// Thread-safety: thread-compatible.
class SessionPolicy {
 public:
  // How a session came to its end.
  enum class End {
    kUnsupported,  // The server, or a proxy, does not know the rpc.
    kNotOpened,    // The daemon did not open it, or not in time.
    kCut,          // It was open, and ended without our doing.
    kRetired,      // We closed it.
  };

  // Whether a session may be opened now.
  bool MayOpen(Instant now) const { return now >= next_at_; }

  // Whether operations may wait for the opening. Otherwise they go by unary calls until it is open.
  bool MayWait() const { return failures_ == 0; }

  void Opened(Instant now);
  // `jitter` is in [0, 1).
  void Ended(End end, Instant now, double jitter);

 private:
  Instant next_at_ = Instant::min();
  Instant opened_at_;
  int failures_ = 0;
  int short_sessions_ = 0;  // In a row.
};

}  // namespace lockkeeper::client
