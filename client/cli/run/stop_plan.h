// SPDX-License-Identifier: Apache-2.0
//
// Decides when a command must get SIGTERM and when SIGKILL, so that it is gone before its lease
// ends. Pure: takes the time as an argument.
#pragma once

#include <chrono>
#include <optional>

#include "renewal/time.h"

namespace lockkeeper::cli {

using client::Duration;
using client::Instant;

// How long before the lease's end SIGKILL is sent: the kernel needs time to carry it out.
inline constexpr Duration kKillMargin = std::chrono::milliseconds(100);

// The default grace: a quarter of the ttl, at most 5 s, so that most of the lease is left for
// renewals when the service is away.
std::chrono::milliseconds GraceDefault(std::chrono::milliseconds ttl);

// Longest grace for a lease of `ttl`: at most half of it, and so that grace and kKillMargin
// together are a possible stop_margin of the client. Negative if the lease is too short for `run`.
std::chrono::milliseconds GraceMax(std::chrono::milliseconds ttl);

// The shortest ttl that is long enough for `run`.
std::chrono::milliseconds TtlMin();

// When to stop a command whose lease ends at `lease_end`.
struct StopTimes {
  Instant term_at;
  Instant kill_at;
};
StopTimes StopTimesOf(Instant lease_end, Duration grace);

// Thread-safety: thread-compatible.
class StopPlan {
 public:
  enum class Action { kNothing, kTerminate, kKill };

  explicit StopPlan(Duration grace) : grace_(grace) {}

  // Sets the times of a renewed lease. Does nothing once stopping has begun.
  void SetTimes(const StopTimes& times);

  // Begins to stop now: SIGTERM at once, SIGKILL after the grace, or earlier if the lease ends
  // earlier.
  void StopNow(Instant now);

  // The action that is due at `now`. Returns each action once, in order.
  Action TakeDue(Instant now);

  // When the next action is due. Nothing if there is none.
  std::optional<Instant> NextAt() const;

  // Whether SIGTERM is due or was given.
  bool is_stopping() const { return stage_ != Stage::kRunning; }
  bool is_killed() const { return stage_ == Stage::kKilled; }

 private:
  enum class Stage { kRunning, kStopAsked, kTerminated, kKilled };

  const Duration grace_;
  std::optional<StopTimes> times_;
  Stage stage_ = Stage::kRunning;
};

}  // namespace lockkeeper::cli
