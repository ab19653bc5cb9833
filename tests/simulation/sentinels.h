// SPDX-License-Identifier: Apache-2.0
//
// The Sentinels of a run, and a daemon that asks them where the primary is, as SentinelWatch does.
// What it concludes from their answers are the real redis::Elections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "redis/sentinel/primary_election.h"
#include "simulation/process.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {

using core::Micros;

inline constexpr size_t kSentinels = 3;

// What the Sentinels know. Lifetime: borrows the clock.
class Sentinels {
 public:
  explicit Sentinels(const core::Clock& clock) : clock_(clock) {}

  // They have promoted the next server. One leads the failover; the others hear of it from that
  // one, within 2 s.
  void Promoted(support::Random random);
  // A daemon with this number cannot reach that Sentinel, from `from` on until `until`.
  void CutOff(uint64_t daemon, size_t sentinel, core::Instant from, core::Instant until);

  // When the newest failover is announced by this one.
  core::Instant KnownAt(size_t sentinel) const { return known_at_[sentinel]; }
  bool IsReached(uint64_t daemon, size_t sentinel) const;
  // What it says now. The primary is "server", and its port the number of failovers before it.
  redis::SentinelView Say(size_t sentinel, core::Instant asked) const;

 private:
  struct Cut {
    uint64_t daemon = 0;
    size_t sentinel = 0;
    core::Instant from;
    core::Instant until;
  };

  const core::Clock& clock_;
  int64_t failovers_ = 0;
  std::array<core::Instant, kSentinels> known_at_{};
  std::vector<Cut> cuts_;
};

// Of one daemon. Thread-safety: not thread-safe. Lifetime: borrows its collaborators.
class PrimaryWatch {
 public:
  // Hears where the primary is; nothing: no majority of the Sentinels says so any more.
  using OnPrimary = std::function<void(std::optional<size_t> server)>;

  // It is connected to `server`, which the Sentinels have just named.
  PrimaryWatch(const Sentinels& sentinels, uint64_t daemon, size_t server, const core::Clock& clock,
               support::ManualExecutor& world, Process& process, support::Random random,
               OnPrimary on_primary);

  // A Sentinel announces a failover; it, or a connection that broke, makes it ask all.
  void AskAll();

 private:
  void Tick();
  void Ask(size_t sentinel);
  void Decide();

  const Sentinels& sentinels_;
  const uint64_t daemon_;
  const core::Clock& clock_;
  support::ManualExecutor& world_;
  Process& process_;
  support::Random random_;
  OnPrimary on_primary_;
  const redis::SentinelTimes times_;
  redis::Elections elections_{times_, kSentinels, redis::Majority::kNeeded};
  std::array<std::optional<redis::SentinelView>, kSentinels> views_;
  std::optional<redis::ServerAddress> primary_;
  std::unique_ptr<core::Timer> timer_;
};

}  // namespace lockkeeper::simulation
