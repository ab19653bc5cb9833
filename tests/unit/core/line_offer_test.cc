// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "core/line.h"
#include "core/withdrawals.h"
#include "support/manual_executor.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;

class LineOfferTest : public testing::Test {
 protected:
  void Wait(ClaimMode claim) {
    AcquireRequest request;
    request.name = "a";
    request.lease_id = LeaseId::FromBits(1, 2);
    request.attempt = 1;
    request.ttl = seconds(30);
    request.keeper = keeper_;
    request.claim = claim;
    request.wait_timeout = seconds(10);
    request.deadline = Instant::max();
    line_->Acquire(request, answer_.Into());
    store_.acquires.Answer(
        AcquireOutcome(Waiting{.number = 7, .position = 1, .free_in = seconds(5)}));
  }

  // The same offer comes as a message and in the answer of a poll, in any order and any time.
  void HearOfOffer(int64_t token = 8) {
    store_.listener->OnOffer({.name = "a",
                              .lease_id = LeaseId::FromBits(1, 2),
                              .token = FencingToken{token},
                              .remaining = seconds(1),
                              .ttl = seconds(30),
                              .previous_lease_expired = false,
                              .attempt = 1,
                              .keeper = keeper_});
  }

  static Lease Claimed() {
    Lease lease;
    lease.name = "a";
    lease.lease_id = LeaseId::FromBits(1, 2);
    lease.token = FencingToken{8};
    lease.remaining_ttl = seconds(30);
    return lease;
  }

  const Keeper keeper_{3, 4};
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PendingStore store_;
  RecordingObserver observer_;
  Withdrawals withdrawals_{store_, clock_, executor_, observer_, Millis(2'000)};
  std::unique_ptr<Line> line_ = std::make_unique<Line>(store_, store_, clock_, executor_,
                                                       withdrawals_, observer_, seconds(1));
  Caught<AcquireAnswer> answer_;
};

// Found by the simulator: the late message made the daemon withdraw the lease of its own client.
TEST_F(LineOfferTest, LateMessageOfAnOfferThatTheDaemonClaimedTakesNoLeaseBack) {
  Wait(ClaimMode::kByDaemon);
  HearOfOffer();
  store_.extends.Answer(Claimed());
  ASSERT_TRUE(answer_.came());

  HearOfOffer();
  EXPECT_EQ(store_.withdrawals.size(), 0U);

  // The daemon, or its connection, may have stood still for any time.
  executor_.AdvanceBy(seconds(5));
  HearOfOffer();
  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kUnclaimedOnly);
  store_.withdrawals.Answer(WithdrawResult::kKept);
  executor_.AdvanceBy(seconds(5));
  EXPECT_EQ(store_.withdrawals.size(), 0U);
  EXPECT_EQ(store_.extends.size(), 0U);
}

TEST_F(LineOfferTest, OfferThatTheClientWasToldOfIsDeclinedOnceItHadTimeToClaim) {
  Wait(ClaimMode::kByClient);
  HearOfOffer();
  ASSERT_TRUE(answer_.came());

  executor_.AdvanceBy(seconds(2));
  HearOfOffer();
  EXPECT_EQ(store_.withdrawals.size(), 0U);

  executor_.AdvanceBy(seconds(2));
  HearOfOffer();
  EXPECT_EQ(store_.withdrawals.front().keeper, keeper_);
  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kUnclaimedOnly);
}

// It cost those behind it a second for each offer.
TEST_F(LineOfferTest, ClientThatLetAnOfferLapseIsSetAsideWhenItIsOfferedTheLockAgain) {
  Wait(ClaimMode::kByClient);
  HearOfOffer(8);
  ASSERT_TRUE(answer_.came());

  executor_.AdvanceBy(seconds(2));
  HearOfOffer(9);

  EXPECT_EQ(store_.withdrawals.front().keeper, keeper_);
  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kSetAside);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  HearOfOffer(8);
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "a late message of the first offer";
}

TEST_F(LineOfferTest, OfferToAPlaceThatCouldNotBeLeftIsDeclinedAtOnce) {
  Wait(ClaimMode::kByDaemon);
  line_->Abandon(keeper_);
  store_.withdrawals.Answer(Error(ErrorReason::kOutcomeUnknown, "no answer"));
  ASSERT_TRUE(answer_.came());
  EXPECT_EQ(ReasonOf(answer_.value().status()), ErrorReason::kOutcomeUnknown);
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "the next try comes later";

  HearOfOffer();

  EXPECT_EQ(store_.withdrawals.front().keeper, keeper_);
  EXPECT_EQ(store_.extends.size(), 0U);
}

// Found by the simulator: it was told that its place is kept while its daemon took it back.
TEST_F(LineOfferTest, WaiterThatIsLeavingWhenTheDaemonDrainsHearsHowThatWent) {
  Wait(ClaimMode::kByDaemon);
  line_->Abandon(keeper_);
  line_->StartDraining();
  executor_.RunUntilIdle();
  ASSERT_FALSE(answer_.came());
  EXPECT_EQ(line_->waiting(), 1U);

  store_.withdrawals.Answer(WithdrawResult::kNotGranted);

  ASSERT_TRUE(answer_.came());
  ASSERT_TRUE(answer_.value().ok());
  EXPECT_EQ(std::get<Contention>(*answer_.value()).reason, ContentionReason::kWaitTimedOut);
  EXPECT_EQ(line_->waiting(), 0U);
}

// Whoever has asked for it finds that nobody takes the answer, and withdraws the lease.
TEST_F(LineOfferTest, ClaimOfACallerThatHasGoneIsAnsweredWhenTheDaemonDrains) {
  Wait(ClaimMode::kByDaemon);
  HearOfOffer();
  ASSERT_EQ(store_.extends.size(), 1U);
  line_->Abandon(keeper_);
  line_->StartDraining();
  executor_.RunUntilIdle();
  ASSERT_FALSE(answer_.came());

  store_.extends.Answer(Lease{.name = "a", .token = {8}});

  ASSERT_TRUE(answer_.came());
  ASSERT_TRUE(answer_.value().ok());
  EXPECT_TRUE(std::holds_alternative<Lease>(*answer_.value()));
}

TEST_F(LineOfferTest, DaemonThatDrainsTakesNoOfferAndAsksNoMore) {
  Wait(ClaimMode::kByDaemon);
  line_->StartDraining();
  executor_.RunUntilIdle();
  ASSERT_TRUE(answer_.came());
  EXPECT_EQ(ReasonOf(answer_.value().status()), ErrorReason::kServerDraining);
  EXPECT_EQ(line_->waiting(), 0U);
  EXPECT_EQ(store_.left, std::vector<std::string>{"a"});

  HearOfOffer();
  executor_.AdvanceBy(seconds(5));

  EXPECT_EQ(store_.polls.size(), 0U);
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "the place is kept";
}

}  // namespace
}  // namespace lockkeeper::core
