// SPDX-License-Identifier: Apache-2.0
#include "simulation/failover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include "simulation/campaign.h"
#include "simulation/process.h"
#include "simulation/sentinels.h"
#include "simulation/world.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {
namespace {

Fault FaultOf(uint32_t target, FaultKind kind = FaultKind::kFailover) {
  return {.kind = kind, .at = Micros(5'000'000), .duration = Micros(3'000'000), .target = target};
}

TEST(FailoverTest, TargetsDrawEachKind) {
  std::set<Failover::Before> befores;
  std::set<Micros> clocks;
  std::set<std::optional<Micros>> ages;
  for (uint32_t target = 0; target < 1000; ++target) {
    const Failover failover = FailoverOf(FaultOf(target));
    befores.insert(failover.before);
    clocks.insert(failover.clock_ahead);
    ages.insert(AgeOfData(FaultOf(target)));
    EXPECT_LE(failover.takes_writes_for, kWritesAloneMax);
    const Fault ordered = FaultOf(target, FaultKind::kFailoverOrdered);
    EXPECT_EQ(FailoverOf(ordered).before, Failover::Before::kReplica);
  }
  EXPECT_EQ(befores.size(), 3U);
  EXPECT_EQ(clocks.size(), 7U);
  EXPECT_EQ(ages.size(), 4U);
}

// A daemon that asks the Sentinels, and follows them. It uses server 0.
struct Watching {
  explicit Watching(support::Random random)
      : watch(sentinels, kDaemon, 0, clock, executor, process, random.Fork(),
              [this](std::optional<size_t> server) {
                if (primary == 0U) left_at = clock.Now();
                primary = server;
              }) {}

  void CutOff(const std::array<SentinelCut, kSentinels>& cuts) {
    for (size_t i = 0; i < kSentinels; ++i) {
      sentinels.CutOff(kDaemon, i, clock.Now() + cuts[i].from, clock.Now() + cuts[i].until);
    }
  }
  // How long after the failover each Sentinel knows of it.
  std::array<Micros, kSentinels> Promote(support::Random random) {
    sentinels.Promoted(random);
    std::array<Micros, kSentinels> known_after{};
    for (size_t i = 0; i < kSentinels; ++i) {
      known_after[i] = std::chrono::ceil<Micros>(sentinels.KnownAt(i) - clock.Now());
    }
    return known_after;
  }
  bool MovesInTime() {
    return executor.AdvanceUntil([this] { return primary == 1U; }, kMovedWithin);
  }

  static constexpr uint64_t kDaemon = 7;
  support::ManualClock clock;
  support::ManualExecutor executor{clock};
  Process process{executor};
  Sentinels sentinels{clock};
  std::optional<size_t> primary = 0;
  core::Instant left_at;
  PrimaryWatch watch;
};

class PrimaryWatchTest : public testing::Test {
 protected:
  support::SeededRandom random_;
};

TEST_F(PrimaryWatchTest, FollowsTheSentinels) {
  Watching daemon(random_.Fork());
  daemon.executor.AdvanceBy(core::Millis(2'500));
  EXPECT_EQ(daemon.primary, 0U);
  daemon.Promote(random_.Fork());
  EXPECT_TRUE(daemon.MovesInTime());
}

TEST_F(PrimaryWatchTest, WithoutSentinelsThereIsNoPrimary) {
  Watching daemon(random_.Fork());
  const SentinelCut cut{.from = {}, .until = Micros(20'000'000)};
  daemon.CutOff({cut, cut, cut});
  daemon.executor.AdvanceBy(core::Millis(4'500));
  EXPECT_EQ(daemon.primary, std::nullopt);
}

// The quarantine relies on that.
TEST_F(PrimaryWatchTest, LeavesTheServerBeforeWithinTheIsolation) {
  core::Micros longest{};
  for (int i = 0; i < 200; ++i) {
    Watching daemon(random_.Fork());
    daemon.executor.AdvanceBy(Micros(random_.Between(0, 2'000'000)));
    const core::Instant promoted_at = daemon.clock.Now();
    const auto known_after = daemon.Promote(random_.Fork());
    daemon.CutOff(CutsOf(known_after, random_.Fork()));
    ASSERT_TRUE(daemon.MovesInTime());
    const auto used = std::chrono::ceil<Micros>(daemon.left_at - promoted_at);
    ASSERT_LE(used, kIsolation);
    longest = std::max(longest, used);
  }
  EXPECT_GE(longest, core::Millis(4'000)) << "some hear of it late";
}

TEST(FailoverTest, RunGoesOnAtThePromotedServer) {
  CompiledScripts lua;
  Schedule schedule;
  schedule.seed = 7;
  schedule.daemons = 3;
  schedule.entrances = 3;
  schedule.clients = 6;
  schedule.ttl = core::Millis(1'500);
  schedule.think_max = Micros(600'000);
  schedule.hold_max = Micros(400'000);
  schedule.wait_max = core::Millis(5'000);
  schedule.faults_end = Micros(16'000'000);
  for (uint32_t target = 0; target < 16; ++target) {
    schedule.faults = {FaultOf(target)};
    const Outcome outcome = simulation::Run(schedule, lua);
    EXPECT_EQ(outcome.failovers, 1U) << target;
    EXPECT_THAT(outcome.violations, testing::IsEmpty()) << target;
  }
}

}  // namespace
}  // namespace lockkeeper::simulation
