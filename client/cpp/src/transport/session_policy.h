// SPDX-License-Identifier: Apache-2.0
//
// Whether a session to a daemon is worth a try. Pure: time comes in as an argument.
#pragma once

#include "renewal/time.h"

namespace lockkeeper::client {

// A stream that lived so long has done its work: proxies cut streams after a minute, or after
// hours.
inline constexpr Duration kSessionLifeMin = std::chrono::seconds(10);
// So many shorter ones in a row, and streams do not live here.
inline constexpr int kShortSessionsMax = 3;
// Time of unary calls after that.
inline constexpr Duration kPauseAfterCuts = std::chrono::minutes(1);
// The same for a server that does not know sessions.
inline constexpr Duration kPauseUnsupported = std::chrono::minutes(5);
// Longest time between tries that opened no session.
inline constexpr Duration kPauseNotOpenedMax = std::chrono::minutes(1);

// Thread-safety: thread-compatible.
class SessionPolicy {
 public:
  // How a session came to its end.
  enum class End {
    kUnsupported,  // The server, or a proxy, does not know the rpc.
    kNotOpened,    // Not served, or not in time.
    kCut,          // Was open, and ended by itself.
    kRetired,      // Was no longer wanted.
  };

  // Whether one may be opened now.
  bool MayOpen(Instant now) const { return now >= next_at_; }

  // Whether operations may wait for the opening. Else they go by unary calls until it is open.
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
