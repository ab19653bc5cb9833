// SPDX-License-Identifier: Apache-2.0
//
// Fencing tokens rise with every grant of a lock, whatever becomes of the record and the clock.
#include <gmock/gmock.h>

#include "contract/store_contract.h"

namespace lockkeeper::support {
namespace {

using core::FencingToken;
using testing::Optional;

constexpr std::chrono::hours kHour{1};

class TokenContract : public StoreContract {
 protected:
  // Grants lock "a" once more and ends that lease. Its token has to be higher than all before.
  void GrantAndRelease(size_t daemon = 0) {
    const LeaseId id = Id(next_++);
    const FencingToken token = Grant(AcquireOf("a", id), daemon).token;
    EXPECT_GT(token, last_);
    last_ = std::max(last_, token);
    Release("a", id);
  }

  uint64_t next_ = 1;
  FencingToken last_;
};

TEST_P(TokenContract, TokensRiseWhileTheClockStandsStill) {
  for (int i = 0; i < 20; ++i) GrantAndRelease();
}

TEST_P(TokenContract, TokensRiseWithTheClock) {
  for (int i = 0; i < 20; ++i) {
    StepBy(Millis(10));
    GrantAndRelease();
    EXPECT_GE(last_.value, NodeNow().micros);
  }
}

TEST_P(TokenContract, TokensRiseOverAllDaemons) {
  for (int i = 0; i < 20; ++i) GrantAndRelease(i % 3 == 0 ? 0 : 1);
}

TEST_P(TokenContract, TokensRiseWhileTheClockGoesBack) {
  for (int i = 0; i < 20; ++i) {
    GrantAndRelease(1);
    StepBy(-kHour);
  }
}

TEST_P(TokenContract, TokensRiseOverAnEmptiedStore) {
  for (int i = 0; i < 20; ++i) {
    GrantAndRelease();
    world_->ForgetEverything();
  }
}

// The clock was far ahead for a while and the store was emptied after: only the daemon that saw it
// knows how far tokens were.
TEST_P(TokenContract, TokensRiseOverAnEmptiedStoreWhoseClockWasAhead) {
  StepBy(kHour);
  GrantAndRelease();
  StepBy(-kHour);
  world_->ForgetEverything();

  GrantAndRelease();
  EXPECT_GT(last_.value, NodeNow().micros + 3'000'000'000);
}

TEST_P(TokenContract, RecordKeepsTokensRisingForADaemonThatSawNothing) {
  StepBy(kHour);
  GrantAndRelease(0);
  StepBy(-kHour);

  GrantAndRelease(1);
  GrantAndRelease(2);
}

TEST_P(TokenContract, TokensRiseAfterTheRecordIsGone) {
  GrantAndRelease();
  StepBy(kTtl + kRetention + Millis(1));
  ASSERT_FALSE(world_->IsKept("a"));

  GrantAndRelease(1);
}

// As long as tokens are ahead of the clock, the record has to stay: it is what keeps them rising.
TEST_P(TokenContract, RecordStaysUntilTheClockHasReachedTheToken) {
  StepBy(kHour);
  GrantAndRelease();
  StepBy(-kHour);
  StepBy(kHour - Millis(1));
  ASSERT_TRUE(world_->IsKept("a"));

  GrantAndRelease(1);
}

TEST_P(TokenContract, ExtendingAndRepeatingKeepTheToken) {
  const FencingToken token = Grant("a", Id(1)).token;
  StepBy(Millis(1));

  EXPECT_EQ(Extend(ExtendOf("a", Id(1))).token, token);
  EXPECT_EQ(Grant("a", Id(1)).token, token);
  EXPECT_EQ(Get("a").token, token);
}

TEST_P(TokenContract, TokensRiseOverForcedReleases) {
  for (uint64_t i = 1; i < 10; ++i) {
    const FencingToken granted = Grant("a", Id(i)).token;
    EXPECT_GT(granted, last_);
    last_ = ForceRelease("a", core::ReleaseDelay::kNone).token;
    EXPECT_GT(last_, granted);
  }
}

LOCKKEEPER_CONTRACT_SUITE(TokenContract);

}  // namespace
}  // namespace lockkeeper::support
