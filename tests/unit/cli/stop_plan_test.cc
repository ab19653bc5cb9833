// SPDX-License-Identifier: Apache-2.0
#include "cli/run/stop_plan.h"

#include <gtest/gtest.h>

#include "renewal/lease_life.h"

namespace lockkeeper::cli {
namespace {

using namespace std::chrono_literals;
using Action = StopPlan::Action;

const Instant kNow{100s};

TEST(StopPlanTest, GroupIsToldAGraceBeforeItIsKilledAndKilledBeforeTheLeaseEnds) {
  StopPlan plan(5s);
  const Instant end = kNow + 30s;
  plan.SetTimes(StopTimesOf(end, 5s));

  EXPECT_EQ(plan.NextAt(), end - 5'100ms);
  EXPECT_EQ(plan.TakeDue(end - 5'100ms - 1ns), Action::kNothing);
  EXPECT_EQ(plan.TakeDue(end - 5'100ms), Action::kTerminate);
  EXPECT_EQ(plan.NextAt(), end - 100ms);
  EXPECT_EQ(plan.TakeDue(end - 100ms - 1ns), Action::kNothing);
  EXPECT_EQ(plan.TakeDue(end - 100ms), Action::kKill);
  EXPECT_EQ(plan.NextAt(), std::nullopt);
  EXPECT_EQ(plan.TakeDue(end + 1h), Action::kNothing);
}

TEST(StopPlanTest, RenewalMovesTheTimes) {
  StopPlan plan(5s);
  plan.SetTimes(StopTimesOf(kNow + 10s, 5s));

  plan.SetTimes(StopTimesOf(kNow + 40s, 5s));

  EXPECT_EQ(plan.TakeDue(kNow + 10s), Action::kNothing);
}

TEST(StopPlanTest, RenewalAfterStoppingBeganIsTooLate) {
  StopPlan plan(5s);
  plan.SetTimes(StopTimesOf(kNow + 10s, 5s));
  ASSERT_EQ(plan.TakeDue(kNow + 5s), Action::kTerminate);

  plan.SetTimes(StopTimesOf(kNow + 40s, 5s));

  EXPECT_EQ(plan.TakeDue(kNow + 9'900ms), Action::kKill);
}

TEST(StopPlanTest, StopNowTellsAtOnceAndKillsAfterTheGrace) {
  StopPlan plan(5s);
  plan.SetTimes(StopTimesOf(kNow + 30s, 5s));

  plan.StopNow(kNow);

  EXPECT_TRUE(plan.is_stopping());
  EXPECT_EQ(plan.TakeDue(kNow), Action::kTerminate);
  EXPECT_EQ(plan.NextAt(), kNow + 5s);
  EXPECT_EQ(plan.TakeDue(kNow + 5s), Action::kKill);
  EXPECT_TRUE(plan.is_killed());
}

TEST(StopPlanTest, StopNowNeverKillsLaterThanTheLeaseAllows) {
  StopPlan plan(5s);
  plan.SetTimes(StopTimesOf(kNow + 6s, 5s));

  plan.StopNow(kNow + 500ms);
  plan.StopNow(kNow + 3s);

  plan.TakeDue(kNow + 500ms);
  EXPECT_EQ(plan.NextAt(), kNow + 5'500ms);
}

TEST(StopPlanTest, BothActionsAreGivenInTurnWhenBothAreOverdue) {
  StopPlan plan(5s);
  plan.SetTimes(StopTimesOf(kNow, 5s));

  EXPECT_EQ(plan.TakeDue(kNow), Action::kTerminate);
  EXPECT_EQ(plan.TakeDue(kNow), Action::kKill);
  EXPECT_EQ(plan.TakeDue(kNow), Action::kNothing);
}

TEST(GraceMaxTest, IsWhatTheClientCanTakeAndAtMostHalfOfTheTtl) {
  for (const auto ttl : {500ms, 1'000ms, 2'000ms, 30'000ms, 86'400'000ms}) {
    const auto grace = GraceMax(ttl);
    EXPECT_GE(grace, 0ms) << ttl.count();
    EXPECT_LE(grace, ttl / 2) << ttl.count();
    EXPECT_LE(grace + kKillMargin, client::StopMarginMax(ttl)) << ttl.count();
  }
  EXPECT_EQ(GraceMax(2s), 1s);
  EXPECT_EQ(GraceMax(30s), 15s);
  EXPECT_LT(GraceMax(100ms), 0ms);
}

TEST(StopPlanTest, DefaultGraceLeavesMostOfAShortLeaseToRenewals) {
  EXPECT_EQ(GraceDefault(60s), 5s);
  EXPECT_EQ(GraceDefault(10s), 2'500ms);
  EXPECT_EQ(GraceDefault(4s), 1s);
  EXPECT_LE(GraceDefault(300ms), GraceMax(300ms));
}

}  // namespace
}  // namespace lockkeeper::cli
