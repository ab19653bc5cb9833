// SPDX-License-Identifier: Apache-2.0
#include "support/manual_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockkeeper::support {
namespace {

using core::Micros;
using testing::ElementsAre;

class ManualExecutorTest : public testing::Test {
 protected:
  core::Task Note(std::string name) {
    return [this, name = std::move(name)] { ran_.push_back(name); };
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  std::vector<std::string> ran_;
  std::vector<std::unique_ptr<core::Timer>> timers_;
};

TEST_F(ManualExecutorTest, PostRunsNothingBeforeTheTurn) {
  executor_.Post(Note("a"));

  EXPECT_THAT(ran_, ElementsAre());
  EXPECT_TRUE(executor_.RunTurn());
  EXPECT_THAT(ran_, ElementsAre("a"));
  EXPECT_FALSE(executor_.RunTurn());
}

TEST_F(ManualExecutorTest, TurnRunsTimersThenPostedThenEndOfTurn) {
  executor_.AtEndOfTurn(Note("end"));
  executor_.Post(Note("posted"));
  timers_.push_back(executor_.After(Micros(0), Note("timer")));

  executor_.RunTurn();

  EXPECT_THAT(ran_, ElementsAre("timer", "posted", "end"));
}

TEST_F(ManualExecutorTest, WorkPostedInATurnWaitsForTheNextOne) {
  executor_.Post([this] {
    executor_.Post(Note("second turn"));
    executor_.AtEndOfTurn(Note("end of first turn"));
    timers_.push_back(executor_.After(Micros(0), Note("timer of second turn")));
  });

  executor_.RunTurn();
  EXPECT_THAT(ran_, ElementsAre("end of first turn"));

  executor_.RunTurn();
  EXPECT_THAT(ran_, ElementsAre("end of first turn", "timer of second turn", "second turn"));
}

TEST_F(ManualExecutorTest, TimersRunInOrderOfTimeThenOfStarting) {
  timers_.push_back(executor_.After(Micros(20), Note("20 first")));
  timers_.push_back(executor_.After(Micros(10), Note("10")));
  timers_.push_back(executor_.After(Micros(20), Note("20 second")));

  executor_.AdvanceBy(Micros(20));

  EXPECT_THAT(ran_, ElementsAre("10", "20 first", "20 second"));
}

TEST_F(ManualExecutorTest, AdvanceByStopsAtEachTimer) {
  std::vector<core::Instant> times;
  const core::Instant start = clock_.Now();
  timers_.push_back(executor_.After(Micros(5), [&] {
    times.push_back(clock_.Now());
    timers_.push_back(executor_.After(Micros(5), [&] { times.push_back(clock_.Now()); }));
  }));

  executor_.AdvanceBy(Micros(30));

  EXPECT_THAT(times, ElementsAre(start + Micros(5), start + Micros(10)));
  EXPECT_EQ(clock_.Now(), start + Micros(30));
}

TEST_F(ManualExecutorTest, DestroyedTimerDoesNotRun) {
  timers_.push_back(executor_.After(Micros(5), Note("cancelled")));
  timers_.clear();

  executor_.AdvanceBy(Micros(10));

  EXPECT_THAT(ran_, ElementsAre());
  EXPECT_EQ(executor_.NextTimer(), std::nullopt);
}

TEST_F(ManualExecutorTest, TimerMayCancelAnotherThatIsDueInTheSameTurn) {
  std::unique_ptr<core::Timer> second;
  timers_.push_back(executor_.After(Micros(5), [&] { second.reset(); }));
  second = executor_.After(Micros(5), Note("second"));

  executor_.AdvanceBy(Micros(5));

  EXPECT_THAT(ran_, ElementsAre());
}

TEST_F(ManualExecutorTest, AdvanceUntilStopsAtTheConditionAndAtTheLimit) {
  bool reached = false;
  const core::Instant start = clock_.Now();
  timers_.push_back(executor_.After(Micros(7), [&] { reached = true; }));

  EXPECT_FALSE(executor_.AdvanceUntil([&] { return reached; }, Micros(6)));
  EXPECT_EQ(clock_.Now(), start + Micros(6));
  EXPECT_TRUE(executor_.AdvanceUntil([&] { return reached; }, Micros(100)));
  EXPECT_EQ(clock_.Now(), start + Micros(7));
}

}  // namespace
}  // namespace lockkeeper::support
