// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/node_clock.h"

#include <chrono>

#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using core::Instant;
using core::NodeTime;

constexpr int64_t kApart = 1'700'000'000'000'000;  // The node's clock less ours, us.

Instant At(std::chrono::microseconds time) { return Instant(time); }
NodeTime Node(std::chrono::microseconds ours) { return {kApart + ours.count()}; }

TEST(NodeClockTest, BoundsTheNodesClockByTheWayOfACall) {
  NodeClock clock;
  EXPECT_FALSE(clock.known());
  // Anything between sending and receiving can be when the node looked at its clock.
  EXPECT_TRUE(clock.Saw(At(100ms), At(110ms), Node(105ms)));

  EXPECT_TRUE(clock.known());
  EXPECT_EQ(clock.Earliest(At(110ms)).micros, Node(105ms).micros - 50'000);
  EXPECT_EQ(clock.Latest(At(110ms)).micros, Node(115ms).micros + 50'000);
}

TEST(NodeClockTest, EachAnswerNarrowsTheBounds) {
  NodeClock clock;
  ASSERT_TRUE(clock.Saw(At(0ms), At(100ms), Node(50ms)));
  ASSERT_TRUE(clock.Saw(At(200ms), At(202ms), Node(201ms)));

  EXPECT_LE(clock.Latest(At(202ms)).micros - clock.Earliest(At(202ms)).micros,
            2 * 50'000 + 2'000 + 2 * 200);
}

TEST(NodeClockTest, DifferenceOfTwoClocksIsThatOfTheirBestAnswers) {
  NodeClock one;
  ASSERT_TRUE(one.Saw(At(0ms), At(2ms), Node(1ms)));
  ASSERT_TRUE(one.Saw(At(100ms), At(300ms), Node(101ms)));  // It was slow.
  NodeClock other;
  ASSERT_TRUE(other.Saw(At(0ms), At(2ms), Node(5'001ms)));

  EXPECT_NEAR(static_cast<double>(other.AheadOf(one).count()), 5e6, 500);
  EXPECT_EQ(one.AheadOf(other), -other.AheadOf(one));
}

TEST(NodeClockTest, StepIsNoticedInBothDirections) {
  for (const auto step : {60ms, -60ms, 3'600'000ms, -3'600'000ms}) {
    NodeClock clock;
    ASSERT_TRUE(clock.Saw(At(10s), At(10s + 1ms), Node(10s)));
    EXPECT_FALSE(clock.Saw(At(11s), At(11s + 1ms), Node(11s + step))) << step.count();
  }
}

TEST(NodeClockTest, SmallStepsAndSlowAnswersAreNone) {
  NodeClock clock;
  ASSERT_TRUE(clock.Saw(At(10s), At(10s + 1ms), Node(10s)));
  EXPECT_TRUE(clock.Saw(At(11s), At(11s + 1ms), Node(11s + 40ms)));

  NodeClock patient;
  ASSERT_TRUE(patient.Saw(At(10s), At(10s + 1ms), Node(10s)));
  // A server that was stopped for two seconds before it looked at its clock, or after.
  EXPECT_TRUE(patient.Saw(At(11s), At(13s), Node(13s)));
  EXPECT_TRUE(patient.Saw(At(14s), At(16s), Node(14s)));
}

// It is slower than the step, by what is no step. The next answer tells.
TEST(NodeClockTest, SlowAnswerDoesNotHideAStep) {
  NodeClock clock;
  ASSERT_TRUE(clock.Saw(At(10s), At(10s + 1ms), Node(10s)));
  ASSERT_TRUE(clock.Saw(At(11s), At(11s + 480ms), Node(11s - 20ms)));
  EXPECT_FALSE(clock.Saw(At(12s), At(12s + 1ms), Node(12s - 500ms)));
}

TEST(NodeClockTest, SlewedClockIsFollowed) {
  NodeClock clock;
  for (int second = 0; second < 100'000; ++second) {
    const std::chrono::microseconds ours = std::chrono::seconds(second);
    const std::chrono::microseconds slewed(ours.count() / 2'000);  // 0.05 %
    ASSERT_TRUE(clock.Saw(At(ours), At(ours + 1ms), Node(ours + slewed))) << second;
  }
}

TEST(NodeClockTest, ForgottenClockBelievesTheNextAnswer) {
  NodeClock clock;
  ASSERT_TRUE(clock.Saw(At(10s), At(10s + 1ms), Node(10s)));

  clock.Forget();

  EXPECT_FALSE(clock.known());
  EXPECT_TRUE(clock.Saw(At(11s), At(11s + 1ms), Node(3'611s)));
  EXPECT_TRUE(clock.Saw(At(12s), At(12s + 1ms), Node(3'612s)));
}

}  // namespace
}  // namespace lockkeeper::redis
