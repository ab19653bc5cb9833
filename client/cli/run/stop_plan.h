// SPDX-License-Identifier: Apache-2.0
//
// When a command has to be told to stop, and when it has to be killed, so that it is gone before
// its lease ends. Pure: time comes in as an argument.
#pragma once

#include <chrono>
#include <optional>

#include "renewal/time.h"

namespace lockkeeper::cli {

using client::Duration;
using client::Instant;

// How long before the lease's end SIGKILL is sent: for the kernel to carry it out.
inline constexpr Duration kKillMargin = std::chrono::milliseconds(100);

// Grace if none is asked for: a quarter of the ttl, so that most of the lease is there for renewals
// when the service is away; 5 s at most.
std::chrono::milliseconds GraceDefault(std::chrono::milliseconds ttl);

// Longest grace for a lease of `ttl`: at most half of it, and what the client can take as
// stop_margin together with kKillMargin. Negative: such a lease is too short for `run`.
std::chrono::milliseconds GraceMax(std::chrono::milliseconds ttl);

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

  // The lease is good until then. Does nothing once stopping has begun.
  void SetTimes(const StopTimes& times);

  // Begins to stop now: SIGTERM at once, SIGKILL after the grace, or when the lease asks for it.
  void StopNow(Instant now);

  // What is due at `now`: each action once, in turn.
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
