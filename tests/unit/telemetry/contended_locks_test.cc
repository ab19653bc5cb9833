// SPDX-License-Identifier: Apache-2.0
#include "telemetry/contended_locks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/manual_clock.h"

namespace lockkeeper::telemetry {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class CountingObserver : public core::LockObserver {
 public:
  void OnWithdrawalEnded(std::string_view, core::WithdrawalEnd) override {}
  void OnExpiredLeaseReplaced(std::string_view, core::FencingToken) override {}
  void OnWaitEnded(std::string_view, const core::Keeper&, core::WaitEnd, core::Micros) override {
    ++waits;
  }
  int waits = 0;
};

class ContendedLocksTest : public testing::Test {
 protected:
  void Wait(const std::string& name, core::Micros waited, int times = 1) {
    for (int i = 0; i < times; ++i) {
      locks_.OnWaitEnded(name, {}, core::WaitEnd::kGranted, waited);
    }
  }

  void Pass(core::Micros time) { clock_.AdvanceTo(clock_.Now() + time); }

  ContendedLockList Most(ContendedOrder order = ContendedOrder::kWaits, size_t limit = 10) {
    return locks_.Most(order, limit, [](std::string_view) { return true; });
  }

  // "a 2 300": name, waits, milliseconds.
  static std::vector<std::string> TextsOf(const ContendedLockList& list) {
    std::vector<std::string> texts;
    for (const ContendedLock& lock : list.locks) {
      texts.push_back(lock.name + " " + std::to_string(lock.waits) + " " +
                      std::to_string(lock.waited / 1ms));
    }
    return texts;
  }

  CountingObserver next_;
  support::ManualClock clock_;
  ContendedLocks locks_{next_, clock_};
};

TEST_F(ContendedLocksTest, ComeInTheOrderThatIsAskedFor) {
  Wait("often", 10ms, 5);
  Wait("long", 900ms);
  Wait("b", 20ms, 2);
  Wait("a", 20ms, 2);

  EXPECT_THAT(TextsOf(Most()), ElementsAre("often 5 50", "a 2 40", "b 2 40", "long 1 900"));
  EXPECT_THAT(TextsOf(Most(ContendedOrder::kWaited)),
              ElementsAre("long 1 900", "often 5 50", "a 2 40", "b 2 40"));
  EXPECT_THAT(TextsOf(Most(ContendedOrder::kWaits, 2)), ElementsAre("often 5 50", "a 2 40"));
  EXPECT_TRUE(Most().is_exact);
  EXPECT_EQ(next_.waits, 10) << "the next observer hears of all";
}

TEST_F(ContendedLocksTest, OnlyThoseAreShownThatMayBe) {
  Wait("app/a", 1ms, 3);
  Wait("other", 1ms, 9);
  const auto list = locks_.Most(ContendedOrder::kWaits, 1,
                                [](std::string_view name) { return name.starts_with("app/"); });
  EXPECT_THAT(TextsOf(list), ElementsAre("app/a 3 3"));
}

TEST_F(ContendedLocksTest, WaitsOfBothPeriodsCountAndOlderOnesDoNot) {
  Wait("a", 10ms, 2);
  Pass(4min);
  Wait("a", 10ms);
  Pass(2min);
  Wait("a", 10ms);
  EXPECT_THAT(TextsOf(Most()), ElementsAre("a 4 40"));
  EXPECT_EQ(Most().window, 6min);
  Pass(5min);
  EXPECT_THAT(TextsOf(Most()), ElementsAre("a 1 10"));
  EXPECT_EQ(Most().window, 5min);
}

TEST_F(ContendedLocksTest, NothingIsLeftAfterTwoPeriodsInWhichNobodyAsked) {
  Wait("a", 10ms);
  Pass(10min);
  EXPECT_THAT(TextsOf(Most()), ElementsAre());
  EXPECT_EQ(Most().window, 5min) << "that nobody waited is known";
  Wait("b", 10ms);
  Pass(9min);
  EXPECT_THAT(TextsOf(Most()), ElementsAre("b 1 10"));
  EXPECT_EQ(Most().window, 9min);
}

TEST_F(ContendedLocksTest, MoreLocksThanCountersMakeTheFiguresApproximate) {
  for (size_t i = 0; i < ContendedLocks::kCounters; ++i) Wait("few/" + std::to_string(i), 1ms);
  Wait("many", 1ms, 50);
  const auto list = Most(ContendedOrder::kWaits, 1);
  ASSERT_EQ(list.locks.size(), 1U);
  EXPECT_EQ(list.locks.front().name, "many");
  EXPECT_FALSE(list.is_exact);
  Pass(10min);
  EXPECT_TRUE(Most().is_exact);
}

}  // namespace
}  // namespace lockkeeper::telemetry
