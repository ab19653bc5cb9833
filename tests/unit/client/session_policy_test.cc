// SPDX-License-Identifier: Apache-2.0
#include "transport/session_policy.h"

#include <gtest/gtest.h>

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;
using End = SessionPolicy::End;

class SessionPolicyTest : public testing::Test {
 protected:
  // A session that lived for `life`.
  void Live(Duration life) {
    policy_.Opened(now_);
    now_ += life;
    policy_.Ended(End::kCut, now_, 1);
  }

  SessionPolicy policy_;
  Instant now_{std::chrono::hours(1)};
};

TEST_F(SessionPolicyTest, FirstMayBeOpenedAndWaitedFor) {
  EXPECT_TRUE(policy_.MayOpen(now_));
  EXPECT_TRUE(policy_.MayWait());
}

TEST_F(SessionPolicyTest, OneThatIsCutIsOpenedAgainAtOnce) {
  for (int i = 0; i < 10; ++i) {
    Live(kSessionLifeMin);
    EXPECT_TRUE(policy_.MayOpen(now_));
    EXPECT_TRUE(policy_.MayWait());
  }
}

TEST_F(SessionPolicyTest, StreamsThatAreCutAgainAndAgainAreLeftForAWhile) {
  for (int i = 1; i < kShortSessionsMax; ++i) {
    Live(1s);
    EXPECT_TRUE(policy_.MayOpen(now_)) << i;
  }

  Live(1s);

  EXPECT_FALSE(policy_.MayOpen(now_ + kPauseAfterCuts - 1ms));
  EXPECT_TRUE(policy_.MayOpen(now_ + kPauseAfterCuts));
  EXPECT_FALSE(policy_.MayWait()) << "nothing is held up by the next try";
  now_ += kPauseAfterCuts;
  Live(1s);
  EXPECT_FALSE(policy_.MayOpen(now_)) << "it was no better";
}

TEST_F(SessionPolicyTest, LongSessionMakesUpForShortOnes) {
  for (int i = 1; i < kShortSessionsMax; ++i) Live(1s);
  Live(kSessionLifeMin);
  Live(1s);

  EXPECT_TRUE(policy_.MayOpen(now_));
}

TEST_F(SessionPolicyTest, OpeningsThatFailAreTriedAgainEverMoreSeldom) {
  Duration before{0};
  for (int i = 0; i < 30; ++i) {
    policy_.Ended(End::kNotOpened, now_, 1);
    EXPECT_FALSE(policy_.MayWait());
    Duration pause{0};
    while (!policy_.MayOpen(now_ + pause)) pause += 10ms;
    EXPECT_GE(pause, before);
    EXPECT_GT(pause, 0s);
    EXPECT_LE(pause, kPauseNotOpenedMax);
    before = pause;
  }
  EXPECT_EQ(before, kPauseNotOpenedMax);
}

TEST_F(SessionPolicyTest, OpenedOneIsWaitedForAgain) {
  policy_.Ended(End::kNotOpened, now_, 1);
  now_ += kPauseNotOpenedMax;

  policy_.Opened(now_);

  EXPECT_TRUE(policy_.MayWait());
}

TEST_F(SessionPolicyTest, ServerWithoutSessionsIsSeldomAsked) {
  policy_.Ended(End::kUnsupported, now_, 1);

  EXPECT_FALSE(policy_.MayOpen(now_ + kPauseUnsupported - 1ms));
  EXPECT_TRUE(policy_.MayOpen(now_ + kPauseUnsupported));
  EXPECT_FALSE(policy_.MayWait());
}

TEST_F(SessionPolicyTest, RetiredOneSaysNothingAboutTheNext) {
  for (int i = 0; i < 10; ++i) {
    policy_.Opened(now_);
    policy_.Ended(End::kRetired, now_, 1);
  }

  EXPECT_TRUE(policy_.MayOpen(now_));
  EXPECT_TRUE(policy_.MayWait());
}

}  // namespace
}  // namespace lockkeeper::client
