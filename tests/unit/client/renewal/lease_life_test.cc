// SPDX-License-Identifier: Apache-2.0
#include "renewal/lease_life.h"

#include <gtest/gtest.h>

#include "renewal/backoff.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;
using Due = LeaseLife::Due;

const Instant kSent{100s};

TEST(LeaseEndTest, CountsFromTheSendTimeAndTakesTheMarginOff) {
  struct Case {
    Duration remaining;
    Duration trusted;
  };
  for (const Case& each : {Case{30s, 29'650ms}, Case{1s, 940ms}, Case{100ms, 49ms},
                           Case{50ms, -500us}, Case{0s, -50ms}}) {
    EXPECT_EQ(LeaseEnd(kSent, each.remaining) - kSent, each.trusted)
        << "remaining " << each.remaining.count() << " ns";
  }
}

TEST(LeaseLifeTest, LeaseIsRenewedAtAThirdOfItsTtlAfterItWasSent) {
  const LeaseLife life({.ttl = 30s}, kSent, 30s);

  EXPECT_EQ(life.Next().due, Due::kExtend);
  EXPECT_EQ(life.Next().at, kSent + 10s);
}

TEST(LeaseLifeTest, ExtendMovesTheEndCountedFromTheSendTimeOfThatExtend) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);
  const Instant extend_sent = kSent + 10s;
  life.ExtendSent(extend_sent);

  // The answer took 4 s on its way: they count against the lease.
  life.ExtendAnswered(extend_sent + 4s, extend_sent, ExtendOutcome::kExtended, 30s, 0.5);

  EXPECT_EQ(life.end(), extend_sent + 29'650ms);
  EXPECT_EQ(life.Next().due, Due::kExtend);
  EXPECT_EQ(life.Next().at, extend_sent + 10s);
}

TEST(LeaseLifeTest, ExtendNeverShortensTheLease) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);
  const Instant end = life.end();

  life.ExtendSent(kSent + 10s);
  life.ExtendAnswered(kSent + 10s, kSent + 10s, ExtendOutcome::kExtended, 5s, 0.5);

  EXPECT_EQ(life.end(), end);
}

TEST(LeaseLifeTest, ExtendWithoutAnswerLeavesTheOldEndAndIsSoonTriedAgain) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);
  const Instant end = life.end();
  Instant now = kSent + 10s;

  // The first failures are tried again after 50, 100, 200, ... ms, at jitter 1/2 three quarters of
  // it.
  for (const Duration delay :
       {37'500us, 75'000us, 150'000us, 300'000us, 600'000us, 750'000us, 750'000us}) {
    life.ExtendSent(now);
    life.ExtendAnswered(now, now, ExtendOutcome::kNoAnswer, 0s, 0.5);
    EXPECT_EQ(life.end(), end);
    EXPECT_EQ(life.Next().due, Due::kExtend);
    EXPECT_EQ(life.Next().at - now, delay);
    now = life.Next().at;
  }
}

TEST(LeaseLifeTest, ShortLeaseIsTriedAgainWithinATenthOfItsTtl) {
  LeaseLife life({.ttl = 300ms}, kSent, 300ms);
  const Instant now = kSent + 100ms;
  life.ExtendSent(now);

  life.ExtendAnswered(now, now, ExtendOutcome::kNoAnswer, 0s, 0.999);

  EXPECT_LE(life.Next().at - now, 30ms);
}

TEST(LeaseLifeTest, FailuresAreForgottenAfterASuccess) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);
  Instant now = kSent + 10s;
  for (int i = 0; i < 5; ++i) life.ExtendAnswered(now, now, ExtendOutcome::kNoAnswer, 0s, 0.5);
  life.ExtendAnswered(now, now, ExtendOutcome::kExtended, 30s, 0.5);

  now += 10s;
  life.ExtendAnswered(now, now, ExtendOutcome::kNoAnswer, 0s, 0.5);

  EXPECT_EQ(life.Next().at - now, 37'500us);
}

TEST(LeaseLifeTest, RefusedExtendIsTriedAgainAtTheRegularTimeOnly) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);
  const Instant now = kSent + 10s;
  life.ExtendSent(now);

  life.ExtendAnswered(now, now, ExtendOutcome::kRefused, 0s, 0.5);

  EXPECT_EQ(life.Next().at, now + 10s);
}

TEST(LeaseLifeTest, OneExtendWaitsForHalfOfWhatIsLeft) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);

  EXPECT_EQ(life.ExtendSent(kSent + 10s), (life.lost_at() - (kSent + 10s)) / 2);
  EXPECT_GT(life.ExtendSent(life.lost_at() - 1ns), 0s);
}

TEST(LeaseLifeTest, WhileAnExtendIsUnderWayOnlyTheLossIsDue) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);

  life.ExtendSent(kSent + 10s);

  EXPECT_EQ(life.Next().due, Due::kLose);
  EXPECT_EQ(life.Next().at, life.end());
}

TEST(LeaseLifeTest, LeaseIsLostAtItsEndAndNotBefore) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);

  EXPECT_FALSE(life.LoseIfDue(kSent + 29'650ms - 1ns));
  EXPECT_TRUE(life.LoseIfDue(kSent + 29'650ms));
  EXPECT_EQ(life.Next().due, Due::kNothing);
}

TEST(LeaseLifeTest, StopMarginBringsTheLossForwardButNotTheEnd) {
  LeaseLife life({.ttl = 30s, .stop_margin = 5s}, kSent, 30s);

  EXPECT_EQ(life.end(), kSent + 29'650ms);
  EXPECT_EQ(life.lost_at(), kSent + 24'650ms);
  EXPECT_TRUE(life.LoseIfDue(kSent + 24'650ms));
  EXPECT_EQ(life.Remaining(kSent + 24'650ms), 5s);
}

TEST(LeaseLifeTest, LargestStopMarginLeavesATwentiethToRenewIn) {
  for (const Duration ttl : {200ms, 2'000ms, 30'000ms, 86'400'000ms}) {
    const Duration margin = StopMarginMax(ttl);
    const LeaseLife life({.ttl = ttl, .stop_margin = margin}, kSent, ttl);
    ASSERT_EQ(life.Next().due, Due::kExtend);
    EXPECT_NEAR(static_cast<double>((life.lost_at() - life.Next().at).count()),
                static_cast<double>((ttl / 20).count()), 2.0);
  }
  EXPECT_EQ(StopMarginMax(50ms), 0s);
}

TEST(LeaseLifeTest, LeaseLostAnswerLosesAtOnceAndLeavesNothing) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);
  const Instant now = kSent + 10s;
  life.ExtendSent(now);

  life.ExtendAnswered(now, now, ExtendOutcome::kLeaseLost, 0s, 0.5);

  EXPECT_TRUE(life.lost());
  EXPECT_EQ(life.Remaining(now), 0s);
}

TEST(LeaseLifeTest, AnswerThatComesAtOrAfterTheLossChangesNothing) {
  LeaseLife life({.ttl = 30s}, kSent, 30s);
  const Instant sent = kSent + 29s;
  life.ExtendSent(sent);
  const Instant lost_at = life.lost_at();

  life.ExtendAnswered(lost_at, sent, ExtendOutcome::kExtended, 30s, 0.5);

  EXPECT_EQ(life.lost_at(), lost_at);
  EXPECT_TRUE(life.LoseIfDue(lost_at));
  life.ExtendAnswered(lost_at + 1s, sent, ExtendOutcome::kExtended, 30s, 0.5);
  EXPECT_TRUE(life.lost());
  EXPECT_EQ(life.end(), lost_at);
}

TEST(LeaseLifeTest, LeaseThatEndsAtItsMaxHoldFromTheStartIsNotRenewed) {
  const LeaseLife life({.ttl = 30s, .max_hold = 20s}, kSent, 20s);

  EXPECT_EQ(life.Next().due, Due::kLose);
  EXPECT_EQ(life.Next().at, kSent + 19'750ms);
}

TEST(LeaseLifeTest, LeaseIsNotRenewedAnyMoreOnceItReachesItsMaxHold) {
  LeaseLife life({.ttl = 30s, .max_hold = 40s}, kSent, 30s);
  // 10 s in, a whole ttl still fits; 20 s in, the server cuts it to the 20 s that are left.
  life.ExtendAnswered(kSent + 10s, kSent + 10s, ExtendOutcome::kExtended, 30s, 0.5);
  ASSERT_EQ(life.Next().due, Due::kExtend);

  life.ExtendAnswered(kSent + 20s, kSent + 20s, ExtendOutcome::kExtended, 20s, 0.5);

  EXPECT_EQ(life.Next().due, Due::kLose);
  EXPECT_LE(life.Next().at, kSent + 40s);
}

TEST(LeaseLifeTest, RepeatedGrantThatHasRunForAWhileIsExtendedAtOnce) {
  // The first reply was lost; the repeat, 25 s later, found 5 s left.
  const LeaseLife life({.ttl = 30s, .stop_margin = 3s}, kSent, 5s);

  EXPECT_EQ(life.Next().due, Due::kExtend);
  EXPECT_EQ(life.Next().at, kSent);
}

TEST(BackoffTest, DelayIsBetweenHalfAndAllOfADoublingValueUpToItsMaximum) {
  EXPECT_EQ(BackoffDelay(1, 1s, 0.0), 25ms);
  EXPECT_EQ(BackoffDelay(3, 1s, 0.0), 100ms);
  EXPECT_EQ(BackoffDelay(1000, 1s, 0.0), 500ms);
  EXPECT_LT(BackoffDelay(1000, 1s, 0.999), 1s);
  EXPECT_EQ(BackoffDelay(1, 10ms, 0.0), 5ms);
}

}  // namespace
}  // namespace lockkeeper::client
