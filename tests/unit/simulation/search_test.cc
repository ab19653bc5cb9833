// SPDX-License-Identifier: Apache-2.0
#include "simulation/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "simulation/campaign.h"
#include "support/manual_clock.h"

namespace lockkeeper::simulation {
namespace {

constexpr int kSchedules = 80;

// What a search draws, and what it learns from the runs.
std::vector<std::string> DrawnBy(Search& search, support::LuaScripts& lua) {
  std::vector<std::string> drawn;
  for (int i = 0; i < kSchedules; ++i) {
    const Schedule schedule = search.Next();
    drawn.push_back(WriteSchedule(schedule));
    search.Learn(schedule, Run(schedule, lua).coverage);
  }
  return drawn;
}

Coverage CoverageWith(int call) {
  Coverage coverage;
  coverage.Operation("lock 0", call, "daemon", support::ManualClock().Now() + Micros(5'000'000));
  return coverage;
}

TEST(SearchTest, SameSeedDrawsTheSame) {
  CompiledScripts lua;
  CompiledScripts other_lua;
  Search search(7);
  Search again(7);

  EXPECT_EQ(DrawnBy(search, lua), DrawnBy(again, other_lua));
}

TEST(SearchTest, OtherSeedDrawsOthers) {
  EXPECT_NE(WriteSchedule(Search(7).Next()), WriteSchedule(Search(8).Next()));
}

TEST(SearchTest, GoesOnFromAScheduleThatSawWhatNoOtherDid) {
  Search search(7);
  Schedule rare;
  for (int i = 0; i < kSchedules; ++i) {
    const Schedule schedule = search.Next();
    const bool last = i + 1 == kSchedules;
    if (last) rare = schedule;
    search.Learn(schedule, CoverageWith(last ? 2 : 1));
  }
  int changed = 0;
  for (int i = 0; i < kSchedules; ++i) {
    const Schedule next = search.Next();
    if (next.seed == rare.seed) ++changed;
    search.Learn(next, CoverageWith(1));
  }
  EXPECT_GT(changed, kSchedules / 4);
}

TEST(SearchTest, WhatIsSeenDependsOnTheFaultBefore) {
  Coverage calm = CoverageWith(1);
  Coverage struck;
  struck.Struck(3, support::ManualClock().Now() + Micros(4'000'000));
  struck.Operation("lock 0", 1, "daemon", support::ManualClock().Now() + Micros(5'000'000));
  EXPECT_NE(calm.sights().front().what, struck.sights().front().what);
  EXPECT_EQ(struck.sights().front().at, Micros(5'000'000));
}

}  // namespace
}  // namespace lockkeeper::simulation
