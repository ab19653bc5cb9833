// SPDX-License-Identifier: Apache-2.0
//
// Messages come over a connection of their own: what they say of an acquire may be here before the
// store's answer to it.
#include <gtest/gtest.h>

#include <chrono>

#include "unit/core/line_fixture.h"

namespace lockkeeper::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LineEarlyTest : public LineTest {
 protected:
  static AcquireRequest Claiming(uint64_t number) {
    AcquireRequest request = Request(number);
    request.claim = ClaimMode::kByClient;
    return request;
  }
};

TEST_F(LineEarlyTest, OfferThatOvertakesItsAcquireIsToldToTheClient) {
  locks_.Acquire(Claiming(1), answer_.Into());
  store_.listener->OnOffer(OfferTo(Claiming(1)));
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "it was declined";
  EXPECT_FALSE(answer_.came());

  store_.acquires.Answer(AcquireOutcome(PlaceOf(Claiming(1))));

  ASSERT_NE(LeaseIn(answer_), nullptr);
  EXPECT_TRUE(LeaseIn(answer_)->offered);
  EXPECT_EQ(locks_.waiting(), 0U);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

TEST_F(LineEarlyTest, OfferThatOvertakesItsAcquireIsClaimedByTheDaemon) {
  locks_.Acquire(Request(1), answer_.Into());
  store_.listener->OnOffer(OfferTo(Request(1)));

  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));

  EXPECT_FALSE(answer_.came()) << "an offer is no lease";
  EXPECT_EQ(store_.extends.front().lease_id, Request(1).lease_id);
  store_.extends.Answer(LeaseOf(Request(1)));
  EXPECT_NE(LeaseIn(answer_), nullptr);
}

TEST_F(LineEarlyTest, OfferToAnAcquireWhoseCallerIsGoneIsLeft) {
  locks_.Acquire(Claiming(1), answer_.Into());
  store_.listener->OnOffer(OfferTo(Claiming(1)));
  locks_.Abandon(Claiming(1).keeper);

  store_.acquires.Answer(AcquireOutcome(PlaceOf(Claiming(1))));

  ASSERT_EQ(store_.withdrawals.size(), 1U);
  EXPECT_EQ(store_.withdrawals.front().keeper, Claiming(1).keeper);
  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kLeaseToo);
}

TEST_F(LineEarlyTest, ReleaseThatOvertakesTheAcquireCancelsIt) {
  locks_.Acquire(Request(1), answer_.Into());
  store_.listener->OnWaiterReleased("a", Request(1).lease_id);
  EXPECT_FALSE(answer_.came());

  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));

  ASSERT_EQ(store_.withdrawals.size(), 1U) << "the release may be older than the place";
  EXPECT_FALSE(answer_.came());
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  EXPECT_EQ(ContentionIn(answer_), ContentionReason::kCancelled);
  EXPECT_EQ(locks_.waiting(), 0U);
}

TEST_F(LineEarlyTest, ReleaseCancelsThePlaceAndTheRetryThatComesIntoIt) {
  StandInLine(Request(1), answer_);
  AcquireRequest retry = Request(1);
  retry.keeper = Keeper(7, 9);
  Caught<AcquireAnswer> retried;
  locks_.Acquire(retry, retried.Into());

  store_.listener->OnWaiterReleased("a", Request(1).lease_id);
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  EXPECT_EQ(ContentionIn(answer_), ContentionReason::kCancelled);
  store_.acquires.Answer(AcquireOutcome(PlaceOf(retry)));
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);

  EXPECT_EQ(ContentionIn(retried), ContentionReason::kCancelled);
}

TEST_F(LineEarlyTest, WhatCameForAnAcquireThatDoesNotWaitIsForgotten) {
  locks_.Acquire(Claiming(1), answer_.Into());
  store_.listener->OnOffer(OfferTo(Claiming(1)));
  Lease offered = LeaseOf(Claiming(1));
  offered.offered = true;
  store_.acquires.Answer(AcquireOutcome(offered));
  ASSERT_NE(LeaseIn(answer_), nullptr);

  store_.listener->OnOffer(OfferTo(Claiming(1)));
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "the client may be about to claim it";

  executor_.AdvanceBy(seconds(3));
  store_.listener->OnOffer(OfferTo(Claiming(1)));
  EXPECT_EQ(store_.withdrawals.size(), 1U) << "it did not claim it";
}

TEST_F(LineEarlyTest, DaemonThatDrainsLeavesTheOfferToTheRetry) {
  locks_.Acquire(Request(1), answer_.Into());
  store_.listener->OnOffer(OfferTo(Request(1)));
  locks_.StartDraining();

  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));
  executor_.RunUntilIdle();

  EXPECT_EQ(ReasonIn(answer_), ErrorReason::kServerDraining);
  EXPECT_EQ(store_.extends.size(), 0U);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

// The store tells no number to one whose turn it is at once.
TEST_F(LineEarlyTest, TurnAtOnceDoesNotMakeTheLineLookLost) {
  StandInLine(Request(1), answer_);
  Caught<AcquireAnswer> at_once;
  locks_.Acquire(Request(2), at_once.Into());
  Lease offered = LeaseOf(Request(2));
  offered.offered = true;
  store_.acquires.Answer(AcquireOutcome(offered));
  ASSERT_FALSE(at_once.came()) << "it is being claimed";

  executor_.AdvanceUntil([&] { return store_.polls.size() > 0; }, seconds(2));

  EXPECT_EQ(store_.polls.front().line, PlaceOf(Request(1)).line);
}

// A lease counts from the request, which may be long ago.
TEST_F(LineEarlyTest, ClientThatClaimsGetsAnOfferAlsoAfterTheLineWasLost) {
  StandInLine(Claiming(1), answer_);
  executor_.AdvanceBy(seconds(1));
  store_.polls.Answer(PollAnswer{.lost = true});
  executor_.AdvanceBy(milliseconds(1));

  store_.acquires.Answer(AcquireOutcome(LeaseOf(Claiming(1))));

  ASSERT_NE(LeaseIn(answer_), nullptr);
  EXPECT_TRUE(LeaseIn(answer_)->offered);
  EXPECT_EQ(LeaseIn(answer_)->waited, Micros(milliseconds(1'001)));
}

}  // namespace
}  // namespace lockkeeper::core
