// SPDX-License-Identifier: Apache-2.0
//
// Tokens at the end of their range, and what a daemon keeps in mind of the node's clock.
#include <chrono>
#include <string>

#include "contract/redis/redis_contract.h"
#include "core/limits.h"

namespace lockkeeper::support {
namespace {

using core::FencingToken;
using testing::Optional;

constexpr std::chrono::hours kHour{1};

class TokenLimitContract : public RedisContract {
 protected:
  // Writes `token` into the record of lock "a".
  void PutToken(int64_t token) {
    constexpr size_t kTokenBegin = 15;
    constexpr size_t kTokenLength = 16;
    std::string digits = std::to_string(token);
    digits.insert(0, kTokenLength - digits.size(), '0');
    PutRecord("a", RecordOf("a").replace(kTokenBegin, kTokenLength, digits));
    ASSERT_EQ(Get("a").token.value, token);
  }
};

TEST_P(TokenLimitContract, DaemonKeepsInMindTheClockThatItSawWithoutAGrant) {
  StepBy(kHour);
  const FencingToken ahead{NodeNow().micros};
  Fence(FenceOf("another lock", FencingToken{1}));
  StepBy(-kHour);

  EXPECT_GE(Grant("a", Id(1)).token, ahead);
}

TEST_P(TokenLimitContract, HighestTokenIsGrantedAndNoneAfterIt) {
  Grant("a", Id(1));
  Release("a", Id(1));
  PutToken(core::limits::kTokenMax - 1);

  EXPECT_EQ(Grant("a", Id(100)).token.value, core::limits::kTokenMax);
  Release("a", Id(100));
  EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(101)))), Optional(ErrorReason::kStoreCorrupt));
  EXPECT_EQ(Get("a").token.value, core::limits::kTokenMax);
}

TEST_P(TokenLimitContract, HighestTokenIsNotRaisedByForce) {
  Grant("a", Id(1));
  Release("a", Id(1));
  PutToken(core::limits::kTokenMax - 1);
  Grant("a", Id(100));

  const auto answer = Ask(core::ForceReleaseRequest{"a", core::ReleaseDelay::kNone, Deadline()});
  EXPECT_THAT(ReasonOf(answer), Optional(ErrorReason::kStoreCorrupt));
}

LOCKKEEPER_REDIS_SUITE(TokenLimitContract);

}  // namespace
}  // namespace lockkeeper::support
