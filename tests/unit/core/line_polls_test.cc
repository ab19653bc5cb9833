// SPDX-License-Identifier: Apache-2.0
//
// What the store is asked while acquires wait, and what a daemon does when their line was lost.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "unit/core/line_fixture.h"

namespace lockkeeper::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using LinePollsTest = LineTest;

TEST_F(LinePollsTest, OfferThatAMessageLostIsFoundByThePollWithinASecond) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(seconds(1));

  ASSERT_EQ(store_.polls.size(), 1U);
  store_.polls.Answer(
      PollAnswer{.free_in = seconds(1), .waiters = 1, .offer = OfferTo(Request(1))});
  EXPECT_EQ(store_.extends.size(), 1U);
}

// Found by the simulator: a client that had not claimed an offer was offered the lock for a second
// more.
TEST_F(LinePollsTest, OfferInAnAnswerForWhichNobodyWaitsAnyMoreIsDeclined) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(seconds(1));
  ASSERT_EQ(store_.polls.size(), 1U);
  locks_.Abandon(Request(1).keeper);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  ASSERT_EQ(store_.withdrawals.size(), 0U);

  store_.polls.Answer(PollAnswer{.free_in = seconds(1), .offer = OfferTo(Request(2))});

  ASSERT_EQ(store_.withdrawals.size(), 1U);
  EXPECT_EQ(store_.withdrawals.front().keeper, Request(2).keeper);
}

TEST_F(LinePollsTest, StoreIsAskedWhenTheHoldersLeaseEnds) {
  locks_.Acquire(Request(1), answer_.Into());
  store_.acquires.Answer(
      AcquireOutcome(Waiting{.number = 100, .position = 1, .free_in = milliseconds(300)}));

  executor_.AdvanceBy(milliseconds(300));
  EXPECT_EQ(store_.polls.size(), 0U);
  executor_.AdvanceBy(milliseconds(1));
  EXPECT_EQ(store_.polls.size(), 1U);
}

// So that they share a script call.
TEST_F(LinePollsTest, LinesThatNothingHurriesAskTogether) {
  executor_.AdvanceBy(milliseconds(1));
  locks_.Acquire(Request(1), answer_.Into());
  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));
  executor_.AdvanceBy(milliseconds(20));
  AcquireRequest of_another = Request(2);
  of_another.name = "b";
  Caught<AcquireAnswer> another;
  locks_.Acquire(of_another, another.Into());
  store_.acquires.Answer(AcquireOutcome(PlaceOf(of_another)));

  executor_.AdvanceUntil([&] { return store_.polls.size() > 0; }, seconds(2));

  EXPECT_EQ(store_.polls.size(), 2U);
}

TEST_F(LinePollsTest, WaitersOfALostLineStandAgainInTheirOrder) {
  Caught<AcquireAnswer> second;
  locks_.Acquire(Request(2), second.Into());
  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(2))));
  locks_.Acquire(Request(1), answer_.Into());
  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));
  executor_.AdvanceBy(seconds(1));

  store_.polls.Answer(PollAnswer{.lost = true});

  ASSERT_EQ(store_.acquires.size(), 2U);
  EXPECT_EQ(store_.acquires.front().lease_id, Request(1).lease_id);
  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));
  EXPECT_EQ(store_.acquires.front().lease_id, Request(2).lease_id);
  EXPECT_EQ(store_.old_numbers,
            (std::vector{PlaceOf(Request(1)).number, PlaceOf(Request(2)).number}))
      << "for the waiters of other daemons";
  EXPECT_FALSE(answer_.came() || second.came());
}

TEST_F(LinePollsTest, WaiterOfALostLineIsThereWhenTheLeaseEnds) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(seconds(1));
  store_.polls.Answer(PollAnswer{.lost = true});
  Waiting place = PlaceOf(Request(1));
  place.free_in = milliseconds(100);
  store_.acquires.Answer(AcquireOutcome(place));

  executor_.AdvanceBy(milliseconds(99));
  EXPECT_EQ(store_.polls.size(), 0U);
  executor_.AdvanceBy(milliseconds(2));
  EXPECT_EQ(store_.polls.size(), 1U);
}

// The store had the place of the call before, which had ended: it was offered the lock, and the
// daemon gave the place up while the later call waited.
TEST_F(LinePollsTest, CallThatTakesAPlaceOverWhileItStandsAgainStandsAgainItself) {
  Caught<AcquireAnswer> first;
  StandInLine(Request(1), first);
  AcquireRequest again = Request(1);
  again.keeper = Keeper(7, 2);
  Caught<AcquireAnswer> second;
  locks_.Acquire(again, second.Into());
  executor_.AdvanceBy(std::chrono::seconds(1));
  store_.polls.Answer(PollAnswer{.lost = true});
  ASSERT_EQ(store_.acquires.size(), 2U);

  store_.acquires.Answer(AcquireOutcome(PlaceOf(again)));
  executor_.RunUntilIdle();
  EXPECT_EQ(ReasonIn(first), ErrorReason::kOutcomeUnknown);
  EXPECT_EQ(store_.acquires.front().keeper, Request(1).keeper);
  store_.acquires.Answer(AcquireOutcome(PlaceOf(again)));

  EXPECT_EQ(store_.acquires.front().keeper, again.keeper);
  store_.acquires.Answer(AcquireOutcome(PlaceOf(again)));
  EXPECT_EQ(store_.acquires.size(), 0U);
  EXPECT_FALSE(second.came());
}

TEST_F(LinePollsTest, CallThatEndedWhileItStoodAgainStaysEnded) {
  Caught<AcquireAnswer> answer;
  StandInLine(Request(1), answer);
  executor_.AdvanceBy(std::chrono::seconds(1));
  store_.polls.Answer(PollAnswer{.lost = true});
  locks_.StartDraining();
  executor_.RunUntilIdle();
  ASSERT_EQ(ReasonIn(answer), ErrorReason::kServerDraining);

  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));
  EXPECT_EQ(store_.acquires.size(), 0U);
}

TEST_F(LinePollsTest, WaiterOfALostLineThatClaimsIsAnsweredByItsClaim) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(seconds(1));
  store_.polls.Answer(PollAnswer{.lost = true});
  store_.listener->OnOffer(OfferTo(Request(1)));

  store_.acquires.Answer(AcquireOutcome(LeaseOf(Request(1))));
  EXPECT_FALSE(answer_.came());
  store_.extends.Answer(LeaseOf(Request(1)));

  EXPECT_NE(LeaseIn(answer_), nullptr);
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "it would take the lease from its holder";
}

// The message that it was released may be older than its place.
TEST_F(LinePollsTest, WaiterOfALostLineThatWasReleasedLeavesAndIsCancelled) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(seconds(1));
  store_.polls.Answer(PollAnswer{.lost = true});
  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));

  store_.listener->OnWaiterReleased("a", Request(1).lease_id);
  ASSERT_EQ(store_.withdrawals.size(), 1U);
  ASSERT_FALSE(answer_.came());
  WithdrawResult left = WithdrawResult::kNotGranted;
  left.seen.position = 2;
  store_.withdrawals.Answer(left);

  EXPECT_EQ(ContentionIn(answer_), ContentionReason::kCancelled);
  EXPECT_EQ(std::get<Contention>(*answer_.value()).position, 0) << "only a wait in vain has one";
}

}  // namespace
}  // namespace lockkeeper::core
