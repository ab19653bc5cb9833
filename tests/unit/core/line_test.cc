// SPDX-License-Identifier: Apache-2.0
//
// A wait from the daemon's side: how it begins and how it ends. What happens to the line in the
// store is in tests/contract and tests/simulation.
#include "core/line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "unit/core/line_fixture.h"

namespace lockkeeper::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_F(LineTest, OfferIsClaimedAndTheLeaseSaysHowLongItWaited) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(milliseconds(500));

  store_.listener->OnOffer(OfferTo(Request(1)));

  EXPECT_EQ(store_.extends.front().lease_id, Request(1).lease_id);
  EXPECT_EQ(store_.extends.front().ttl, Millis(0)) << "the ttl that the acquire asked for";
  ASSERT_FALSE(answer_.came()) << "an offer is no lease";
  store_.extends.Answer(LeaseOf(Request(1)));
  ASSERT_NE(LeaseIn(answer_), nullptr);
  EXPECT_EQ(LeaseIn(answer_)->waited, Micros(milliseconds(500)));
  EXPECT_EQ(locks_.waiting(), 0U);
  EXPECT_EQ(locks_.outstanding(), 0U);
}

TEST_F(LineTest, ClientThatClaimsGetsTheOffer) {
  AcquireRequest request = Request(1);
  request.claim = ClaimMode::kByClient;
  StandInLine(request, answer_);

  store_.listener->OnOffer(OfferTo(request));

  ASSERT_NE(LeaseIn(answer_), nullptr);
  EXPECT_TRUE(LeaseIn(answer_)->offered);
  EXPECT_EQ(LeaseIn(answer_)->remaining_ttl, Micros(seconds(1)));
  EXPECT_EQ(store_.extends.size(), 0U);
}

TEST_F(LineTest, ClaimThatCameTooLateGoesBackToWaiting) {
  StandInLine(Request(1), answer_);
  store_.listener->OnOffer(OfferTo(Request(1)));

  store_.extends.Answer(Error(ErrorReason::kLeaseLost, "lapsed"));
  executor_.AdvanceBy(milliseconds(1));

  EXPECT_FALSE(answer_.came());
  EXPECT_EQ(store_.polls.size(), 1U) << "it goes back to its place at once";
}

TEST_F(LineTest, ClaimWithoutAnAnswerIsRepeated) {
  StandInLine(Request(1), answer_);
  store_.listener->OnOffer(OfferTo(Request(1)));
  store_.extends.Answer(Error(ErrorReason::kOutcomeUnknown, "no reply"));
  executor_.AdvanceBy(milliseconds(100));

  ASSERT_EQ(store_.extends.size(), 1U);
  store_.extends.Answer(LeaseOf(Request(1)));
  EXPECT_NE(LeaseIn(answer_), nullptr);
}

// The claim may have been carried out: then the waiter stands in line no longer.
TEST_F(LineTest, ClaimWithoutAnAnswerIsRepeatedUntilTheStoreHasAnswered) {
  StandInLine(Request(1), answer_);
  store_.listener->OnOffer(OfferTo(Request(1)));
  store_.extends.Answer(Error(ErrorReason::kOutcomeUnknown, "no reply"));
  for (const ErrorReason reason :
       {ErrorReason::kStoreUnavailable, ErrorReason::kStoreQuarantined}) {
    executor_.AdvanceBy(milliseconds(100));
    ASSERT_EQ(store_.extends.size(), 1U) << static_cast<int>(reason);
    store_.extends.Answer(Error(reason, "not now"));
  }
  executor_.AdvanceBy(milliseconds(100));
  ASSERT_EQ(store_.extends.size(), 1U);
  store_.extends.Answer(LeaseOf(Request(1)));
  EXPECT_NE(LeaseIn(answer_), nullptr);
}

TEST_F(LineTest, WaiterWhoseClaimedLeaseIsOverAsksForItsPlaceAsOneThatHasLostIt) {
  StandInLine(Request(1), answer_);
  store_.listener->OnOffer(OfferTo(Request(1)));
  store_.extends.Answer(Error(ErrorReason::kOutcomeUnknown, "no reply"));
  executor_.AdvanceBy(milliseconds(100));
  store_.extends.Answer(Error(ErrorReason::kLeaseLost, "it has ended"));
  executor_.AdvanceBy(milliseconds(10));
  ASSERT_EQ(store_.polls.size(), 1U);
  EXPECT_EQ(store_.polls.front().line, 0) << "so that the store says that it has to stand again";
}

TEST_F(LineTest, WaitTimesOutWhenThePlaceIsGivenUpForCertain) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(minutes(1));

  EXPECT_EQ(store_.withdrawals.front().keeper, Request(1).keeper);
  ASSERT_FALSE(answer_.came()) << "it may still get the lock";
  WithdrawResult left = WithdrawResult::kNotGranted;
  left.seen = {.holder_owner = "host 7", .remaining_ttl = seconds(9), .position = 5, .waiters = 8};
  store_.withdrawals.Answer(left);
  EXPECT_EQ(ContentionIn(answer_), ContentionReason::kWaitTimedOut);
  const auto& contention = std::get<Contention>(*answer_.value());
  EXPECT_EQ(contention.holder_owner, "host 7");
  EXPECT_EQ(contention.remaining_ttl, Micros(seconds(9)));
  EXPECT_EQ(contention.position, 5);
  EXPECT_EQ(contention.waiters, 8);
}

TEST_F(LineTest, WaitThatTimesOutAtItsTurnWasNext) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(minutes(1));
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);

  EXPECT_EQ(ContentionIn(answer_), ContentionReason::kWaitTimedOut);
  EXPECT_EQ(std::get<Contention>(*answer_.value()).position, 1);
}

TEST_F(LineTest, WaitThatTimesOutAfterTheLineWasLostSaysThePlaceOfItsArrival) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(minutes(1));
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);

  EXPECT_EQ(ContentionIn(answer_), ContentionReason::kWaitTimedOut);
  EXPECT_EQ(std::get<Contention>(*answer_.value()).position, PlaceOf(Request(1)).position);
}

TEST_F(LineTest, PlaceThatCouldNotBeGivenUpIsUnknownAndTriedAgain) {
  StandInLine(Request(1), answer_);
  executor_.AdvanceBy(minutes(1));
  store_.withdrawals.Answer(Error(ErrorReason::kOutcomeUnknown, "no reply"));

  EXPECT_EQ(ReasonIn(answer_), ErrorReason::kOutcomeUnknown);
  executor_.AdvanceBy(seconds(1));
  EXPECT_EQ(store_.withdrawals.size(), 1U);
  EXPECT_EQ(locks_.outstanding(), 1U);
}

TEST_F(LineTest, DeadlineOfTheCallerBoundsTheWaitAndLeavesTimeToAnswer) {
  AcquireRequest request = Request(1);
  request.deadline = clock_.Now() + seconds(10);
  StandInLine(request, answer_);

  executor_.AdvanceBy(seconds(9) + milliseconds(749));
  EXPECT_EQ(store_.withdrawals.size(), 0U);
  executor_.AdvanceBy(milliseconds(1));

  ASSERT_EQ(store_.withdrawals.size(), 1U);
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  EXPECT_EQ(ContentionIn(answer_), ContentionReason::kWaitTimedOut);
}

TEST_F(LineTest, AbandonedWaiterLeavesAtOnce) {
  StandInLine(Request(1), answer_);

  locks_.Abandon(Request(1).keeper);

  ASSERT_EQ(store_.withdrawals.size(), 1U);
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  EXPECT_TRUE(answer_.came());
  EXPECT_EQ(locks_.waiting(), 0U);
}

TEST_F(LineTest, AcquireThatIsAbandonedOnItsWayLeavesAsItArrives) {
  locks_.Acquire(Request(1), answer_.Into());
  locks_.Abandon(Request(1).keeper);
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "nothing is known of it yet";

  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));

  ASSERT_EQ(store_.withdrawals.size(), 1U);
  EXPECT_EQ(store_.withdrawals.front().keeper, Request(1).keeper);
}

TEST_F(LineTest, AbandoningAnAcquireThatIsOverDoesNothing) {
  locks_.Acquire(Request(1), answer_.Into());
  store_.acquires.Answer(AcquireOutcome(LeaseOf(Request(1))));

  locks_.Abandon(Request(1).keeper);
  executor_.RunUntilIdle();

  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

// As a caller that leaves while the daemon claims: the lease is answered, and then withdrawn by
// whoever finds that nobody took the answer.
TEST_F(LineTest, AbandonedClaimIsAnsweredByWhatBecameOfIt) {
  StandInLine(Request(1), answer_);
  store_.listener->OnOffer(OfferTo(Request(1)));
  locks_.Abandon(Request(1).keeper);
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "the claim is on its way";

  store_.extends.Answer(LeaseOf(Request(1)));
  EXPECT_NE(LeaseIn(answer_), nullptr);
}

TEST_F(LineTest, WaiterThatSomebodyReleasedIsCancelled) {
  StandInLine(Request(1), answer_);

  store_.listener->OnWaiterReleased("a", Request(1).lease_id);
  EXPECT_FALSE(answer_.came()) << "it may stand in line: the message may be older than its place";
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);

  EXPECT_EQ(ContentionIn(answer_), ContentionReason::kCancelled);
}

// The claim says whether the release was of this place.
TEST_F(LineTest, ClaimOfAWaiterThatSomebodyReleasedDecides) {
  StandInLine(Request(1), answer_);
  store_.listener->OnOffer(OfferTo(Request(1)));
  store_.listener->OnWaiterReleased("a", Request(1).lease_id);
  EXPECT_FALSE(answer_.came());
  store_.extends.Answer(LeaseOf(Request(1)));
  EXPECT_NE(LeaseIn(answer_), nullptr) << "of an earlier one";

  Caught<AcquireAnswer> other;
  StandInLine(Request(2), other);
  store_.listener->OnOffer(OfferTo(Request(2)));
  store_.listener->OnWaiterReleased("a", Request(2).lease_id);
  store_.extends.Answer(Error(ErrorReason::kLeaseLost, "released"));
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  EXPECT_EQ(ContentionIn(other), ContentionReason::kCancelled);
}

TEST_F(LineTest, DrainAnswersWaitersAndKeepsTheirPlaces) {
  StandInLine(Request(1), answer_);
  Caught<AcquireAnswer> joining;
  locks_.Acquire(Request(2), joining.Into());

  locks_.StartDraining();
  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(2))));
  executor_.RunUntilIdle();

  EXPECT_EQ(ReasonIn(answer_), ErrorReason::kServerDraining);
  EXPECT_EQ(ReasonIn(joining), ErrorReason::kServerDraining);
  EXPECT_EQ(store_.left, (std::vector<std::string>{"a", "a"})) << "once more for who joined late";
  EXPECT_EQ(store_.withdrawals.size(), 0U);
  EXPECT_EQ(locks_.outstanding(), 0U) << "a drain does not wait for waiters";
}

TEST_F(LineTest, OfferToAWaiterThatIsGoneIsDeclined) {
  store_.listener->OnOffer(OfferTo(Request(1)));

  EXPECT_EQ(store_.withdrawals.front().keeper, Request(1).keeper);
}

TEST_F(LineTest, OfferThatTheClientKnowsIsNotDeclinedWhenItIsHeardOfAgain) {
  AcquireRequest request = Request(1);
  request.claim = ClaimMode::kByClient;
  StandInLine(request, answer_);
  store_.listener->OnOffer(OfferTo(request));
  store_.listener->OnOffer(OfferTo(request));

  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

TEST_F(LineTest, LaterAttemptAtThisDaemonWaitsInsteadOfTheEarlierOne) {
  StandInLine(Request(1), answer_);
  AcquireRequest again = Request(1);
  again.attempt = 4;
  again.keeper = Keeper(7, 9);
  Caught<AcquireAnswer> later;
  locks_.Acquire(again, later.Into());
  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));
  executor_.RunUntilIdle();

  EXPECT_EQ(ReasonIn(answer_), ErrorReason::kOutcomeUnknown);
  EXPECT_FALSE(later.came());
  EXPECT_EQ(locks_.waiting(), 1U);
  locks_.Abandon(Request(1).keeper);
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "the place is the later one's";
  store_.listener->OnOffer(OfferTo(again));
  store_.extends.Answer(LeaseOf(again));
  EXPECT_NE(LeaseIn(later), nullptr);
}

TEST_F(LineTest, ObserverHearsOfEveryWaitAndItsEnd) {
  StandInLine(Request(1), answer_);
  EXPECT_EQ(observer_.waits_begun, 1U);
  EXPECT_EQ(observer_.positions.back(), PlaceOf(Request(1)).position);
  executor_.AdvanceBy(milliseconds(300));
  store_.listener->OnOffer(OfferTo(Request(1)));
  Lease after_expired = LeaseOf(Request(1));
  after_expired.previous_lease_expired = true;
  store_.extends.Answer(after_expired);

  Caught<AcquireAnswer> cancelled;
  StandInLine(Request(2), cancelled);
  store_.listener->OnWaiterReleased("a", Request(2).lease_id);
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);

  Caught<AcquireAnswer> abandoned;
  StandInLine(Request(3), abandoned);
  locks_.Abandon(Request(3).keeper);
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);

  Caught<AcquireAnswer> offered;
  AcquireRequest confirming = Request(4);
  confirming.claim = ClaimMode::kByClient;
  StandInLine(confirming, offered);
  store_.listener->OnOffer(OfferTo(confirming));

  Caught<AcquireAnswer> timed_out;
  AcquireRequest impatient = Request(5);
  impatient.wait_timeout = Millis(200);
  StandInLine(impatient, timed_out);
  executor_.AdvanceBy(milliseconds(200));
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);

  Caught<AcquireAnswer> failed;
  impatient.keeper = Keeper(7, 6);
  StandInLine(impatient, failed);
  executor_.AdvanceBy(milliseconds(200));
  store_.withdrawals.Answer(Error(ErrorReason::kStoreCorrupt, "unreadable"));

  Caught<AcquireAnswer> drained;
  StandInLine(Request(7), drained);
  locks_.StartDraining();
  executor_.RunUntilIdle();

  using testing::Pair;
  EXPECT_THAT(
      observer_.waits_ended,
      testing::ElementsAre(
          Pair(WaitEnd::kGranted, Micros(milliseconds(300))), Pair(WaitEnd::kCancelled, Micros(0)),
          Pair(WaitEnd::kCallerLeft, Micros(0)), Pair(WaitEnd::kOffered, Micros(0)),
          Pair(WaitEnd::kTimedOut, Micros(milliseconds(200))),
          Pair(WaitEnd::kFailed, Micros(milliseconds(200))), Pair(WaitEnd::kDrained, Micros(0))));
  EXPECT_EQ(observer_.waits_begun, observer_.waits_ended.size());
  EXPECT_THAT(observer_.expired, testing::ElementsAre(Pair("a", FencingToken{42})));
}

TEST_F(LineTest, GrantWithoutAWaitIsNoWait) {
  AcquireRequest request = Request(1);
  locks_.Acquire(request, answer_.Into());
  store_.acquires.Answer(AcquireOutcome(LeaseOf(request)));

  EXPECT_EQ(observer_.waits_begun, 0U);
  EXPECT_THAT(observer_.waits_ended, testing::IsEmpty());
}

TEST_F(LineTest, ChangedLimitOfAPrincipalIsThatOfTheNextWaiter) {
  std::vector<Caught<AcquireAnswer>> answers(kWaitersMax + 1);
  for (size_t i = 0; i < kWaitersMax; ++i) locks_.Acquire(Request(i + 1), answers[i].Into());

  locks_.SetWaitersPerPrincipalMax(kWaitersMax + 1);
  locks_.Acquire(Request(8), answers[kWaitersMax].Into());
  locks_.SetWaitersPerPrincipalMax(1);
  locks_.Acquire(Request(9), answer_.Into());
  executor_.RunUntilIdle();

  EXPECT_EQ(ReasonIn(answer_), ErrorReason::kWaiterLimit);
  EXPECT_THAT(std::string(answer_.value().status().message()), testing::HasSubstr("at most 1 "));
  for (const auto& answer : answers) EXPECT_FALSE(answer.came()) << "those that wait stay";
}

TEST_F(LineTest, PrincipalHasALimitThatCountsThoseOnTheirWay) {
  std::vector<Caught<AcquireAnswer>> answers(kWaitersMax);
  for (size_t i = 0; i < kWaitersMax; ++i) locks_.Acquire(Request(i + 1), answers[i].Into());
  store_.acquires.Answer(AcquireOutcome(PlaceOf(Request(1))));

  AcquireRequest other = Request(8);
  other.principal = "somebody else";
  Caught<AcquireAnswer> of_other;
  locks_.Acquire(other, of_other.Into());
  AcquireRequest only_tries = Request(9);
  only_tries.wait_timeout = Millis(0);
  Caught<AcquireAnswer> tried;
  locks_.Acquire(only_tries, tried.Into());
  locks_.Acquire(Request(10), answer_.Into());
  EXPECT_FALSE(answer_.came()) << "never before the call returned";
  executor_.RunUntilIdle();

  EXPECT_EQ(ReasonIn(answer_), ErrorReason::kWaiterLimit);
  EXPECT_EQ(answer_.value().status().message(),
            "at most 3 acquires of one principal may wait at this daemon "
            "(waiters.per_principal_max)");
  EXPECT_FALSE(of_other.came());
  EXPECT_FALSE(tried.came());

  store_.acquires.Answer(AcquireOutcome(Contention{}));  // The second of those on their way.
  Caught<AcquireAnswer> next;
  locks_.Acquire(Request(11), next.Into());
  executor_.RunUntilIdle();
  EXPECT_FALSE(next.came());
}

}  // namespace
}  // namespace lockkeeper::core