// SPDX-License-Identifier: Apache-2.0
//
// Fence: admits the newest token and nothing else, and never again what was stale once.
#include <map>
#include <set>

#include "contract/store_contract.h"
#include "core/limits.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

using core::FencingToken;
using core::LeaseLiveness;
using core::Verdict;

class FenceContract : public StoreContract {
 protected:
  Verdict VerdictOf(FencingToken token, LeaseLiveness liveness = LeaseLiveness::kAny) {
    return Fence(FenceOf("a", token, liveness)).verdict;
  }
};

TEST_P(FenceContract, NewestTokenIsAdmitted) {
  const FencingToken token = Grant("a", Id(1)).token;

  const core::FenceAnswer answer = Fence(FenceOf("a", token));

  EXPECT_EQ(answer.verdict, Verdict::kAdmitted);
  EXPECT_EQ(answer.newest, token);
  EXPECT_EQ(VerdictOf(token, LeaseLiveness::kRequired), Verdict::kAdmitted);
}

TEST_P(FenceContract, TokenIsStaleOnceAHigherOneWasGranted) {
  const FencingToken first = Grant("a", Id(1)).token;
  StepBy(kTtl);
  const FencingToken second = Grant("a", Id(2)).token;

  const core::FenceAnswer answer = Fence(FenceOf("a", first));
  EXPECT_EQ(answer.verdict, Verdict::kStale);
  EXPECT_EQ(answer.newest, second);
  EXPECT_EQ(VerdictOf(first, LeaseLiveness::kRequired), Verdict::kStale);
  Release("a", Id(2));
  EXPECT_EQ(VerdictOf(first), Verdict::kStale);
}

TEST_P(FenceContract, NewestTokenOfAnEndedLeaseIsExpiredIfALiveOneIsAskedFor) {
  const FencingToken token = Grant("a", Id(1)).token;

  StepBy(kTtl - Micros(1));
  EXPECT_EQ(VerdictOf(token, LeaseLiveness::kRequired), Verdict::kAdmitted);
  StepBy(Micros(1));
  EXPECT_EQ(VerdictOf(token, LeaseLiveness::kRequired), Verdict::kExpired);
  EXPECT_EQ(VerdictOf(token), Verdict::kAdmitted);
}

TEST_P(FenceContract, NewestTokenOfAReleasedLeaseIsExpiredIfALiveOneIsAskedFor) {
  const FencingToken token = Grant("a", Id(1)).token;
  Release("a", Id(1));

  EXPECT_EQ(VerdictOf(token, LeaseLiveness::kRequired), Verdict::kExpired);
  EXPECT_EQ(VerdictOf(token), Verdict::kAdmitted);
}

TEST_P(FenceContract, TokenThatWasNeverGrantedIsUnknown) {
  EXPECT_EQ(VerdictOf(FencingToken{1}), Verdict::kUnknownToken);
  const FencingToken token = Grant("a", Id(1)).token;

  EXPECT_EQ(VerdictOf(FencingToken{token.value + 1}), Verdict::kUnknownToken);
  EXPECT_EQ(VerdictOf(FencingToken{core::limits::kTokenMax}), Verdict::kUnknownToken);
}

TEST_P(FenceContract, TokenIsUnknownAfterItsRecordIsGone) {
  const FencingToken token = Grant("a", Id(1)).token;
  StepBy(kTtl + kRetention + Millis(1));

  const core::FenceAnswer answer = Fence(FenceOf("a", token));
  EXPECT_EQ(answer.verdict, Verdict::kUnknownToken);
  EXPECT_EQ(answer.newest, FencingToken{});
}

TEST_P(FenceContract, TokenIsUnknownWhereOnlyVoidLeaseIdsAreKept) {
  Release("a", Id(1));

  EXPECT_EQ(VerdictOf(FencingToken{1}), Verdict::kUnknownToken);
}

TEST_P(FenceContract, TokenOfAForcedReleaseIsNeverAdmitted) {
  const FencingToken granted = Grant("a", Id(1)).token;
  const FencingToken forced = ForceRelease("a").token;

  EXPECT_EQ(VerdictOf(granted), Verdict::kStale);
  EXPECT_EQ(VerdictOf(forced), Verdict::kUnknownToken);
  StepBy(kTtl);
  Grant("a", Id(2));
  EXPECT_EQ(VerdictOf(granted), Verdict::kStale);
  EXPECT_EQ(VerdictOf(forced), Verdict::kStale);
}

TEST_P(FenceContract, FenceStoresNothing) {
  VerdictOf(FencingToken{1});
  EXPECT_FALSE(world_->IsKept("a"));

  const FencingToken token = Grant("a", Id(1)).token;
  const std::string record = RecordOf("a");
  VerdictOf(token, LeaseLiveness::kRequired);
  EXPECT_EQ(RecordOf("a"), record);
}

// Method: a random life of one lock, emptied stores included; all tokens ever granted are asked for
// again and again.
TEST_P(FenceContract, TokenThatWasStaleIsNeverAdmittedAgain) {
  SeededRandom random;
  std::vector<std::pair<FencingToken, LeaseId>> granted;
  std::set<FencingToken> stale;
  for (uint64_t step = 1; step < 300; ++step) {
    switch (random.Below(8)) {
      case 0:
      case 1:
      case 2: {
        const auto outcome = Ask(AcquireOf("a", Id(step)));
        ASSERT_TRUE(outcome.ok()) << outcome.status();
        if (const auto* lease = std::get_if<core::Lease>(&*outcome)) {
          granted.emplace_back(lease->token, Id(step));
        }
        break;
      }
      case 3:
        if (!granted.empty()) Release("a", granted.back().second);
        break;
      case 4:
        ForceRelease("a", random.OneIn(2) ? core::ReleaseDelay::kNone
                                          : core::ReleaseDelay::kHoldersRemainingTtl);
        break;
      case 5:
        if (random.OneIn(3)) world_->ForgetEverything();
        break;
      default:
        StepBy(Micros(random.Between(0, 40'000'000)));
    }
    for (const auto& [token, id] : granted) {
      const Verdict verdict = VerdictOf(token);
      if (verdict == Verdict::kStale) stale.insert(token);
      ASSERT_FALSE(verdict == Verdict::kAdmitted && stale.contains(token)) << token.value;
      ASSERT_FALSE(verdict == Verdict::kAdmitted && token != granted.back().first) << token.value;
    }
  }
  EXPECT_GT(stale.size(), 3U) << "the test did not do what it is for";
}

LOCKKEEPER_CONTRACT_SUITE(FenceContract);

}  // namespace
}  // namespace lockkeeper::support
