// SPDX-License-Identifier: Apache-2.0
#include "core/poll_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/manual_clock.h"
#include "support/manual_executor.h"

namespace lockkeeper::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PollScheduleTest : public testing::Test {
 protected:
  Instant In(int64_t millis) { return clock_.Now() + Millis(millis); }

  std::vector<std::string> PolledAfter(int64_t millis) {
    polled_.clear();
    executor_.AdvanceBy(Millis(millis));
    return polled_;
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  std::vector<std::string> polled_;
  PollSchedule schedule_{clock_, executor_,
                         [this](LocalLine& line) { polled_.push_back(line.name); }};
  LocalLine a_{.name = "a"}, b_{.name = "b"}, c_{.name = "c"};
};

TEST_F(PollScheduleTest, EarliestIsPolledFirstAndEqualOnesInTheOrderOfSet) {
  schedule_.Set(c_, In(20));
  schedule_.Set(b_, In(10));
  schedule_.Set(a_, In(10));

  EXPECT_THAT(PolledAfter(9), IsEmpty());
  EXPECT_THAT(PolledAfter(1), ElementsAre("b", "a"));
  EXPECT_THAT(PolledAfter(100), ElementsAre("c"));
  EXPECT_THAT(PolledAfter(100), IsEmpty());
}

TEST_F(PollScheduleTest, OnlyTheLastTimeCounts) {
  schedule_.Set(a_, In(10));
  schedule_.Set(a_, In(30));
  schedule_.Set(b_, In(30));
  schedule_.Set(b_, In(20));

  EXPECT_THAT(PolledAfter(10), IsEmpty());
  EXPECT_THAT(PolledAfter(10), ElementsAre("b"));
  EXPECT_THAT(PolledAfter(10), ElementsAre("a"));
}

TEST_F(PollScheduleTest, CancelledLinesAreNotPolled) {
  schedule_.Set(a_, In(10));
  schedule_.Set(b_, In(10));
  schedule_.Set(c_, In(10));

  schedule_.Cancel(b_);
  EXPECT_THAT(PolledAfter(10), ElementsAre("a", "c"));
  schedule_.Set(a_, In(10));
  schedule_.CancelAll();
  EXPECT_THAT(PolledAfter(10), IsEmpty());
  EXPECT_FALSE(executor_.NextTimer()) << "nothing is left to wait for";
}

TEST_F(PollScheduleTest, LineMayBeSetAgainWhileItIsPolled) {
  int polls = 0;
  PollSchedule schedule(clock_, executor_, [&](LocalLine& line) {
    if (++polls < 3) schedule.Set(line, In(5));
  });
  schedule.Set(a_, In(5));
  for (int i = 0; i < 6; ++i) PolledAfter(5);

  EXPECT_EQ(polls, 3);
}

}  // namespace
}  // namespace lockkeeper::core
