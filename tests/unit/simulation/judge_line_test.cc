// SPDX-License-Identifier: Apache-2.0
//
// The same for the line of waiters: order, dead and silent waiters, definite answers.
#include <gtest/gtest.h>

#include "simulation/judge.h"
#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

using JudgeLineTest = JudgeHistory;

// --- order

TEST_F(JudgeLineTest, WaitersAreServedInTheOrderOfTheirNumbers) {
  HolderAndTwoWaiters();
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  Claim('b', 110);
  Release('b', 120);
  Offer(TryOf('c', 2, 2), 3, 120);
  Claim('c', 130);
  judge_.Granted("a", 3, false, At(11), At(131));
  ExpectNone();
}

// The line had ended meanwhile, and another had begun.
TEST_F(JudgeLineTest, WaiterThatLeftComesAgainWithItsNumber) {
  HolderAndTwoWaiters();
  judge_.LeftLine("a", IdOf('b'), At(50));
  judge_.Joined(TryOf('b', 2, 1), 10, At(60));
  ExpectNone();
  judge_.LeftLine("a", IdOf('b'), At(70));
  judge_.Joined(TryOf('b', 2, 1), 9, At(80));
  ExpectOne("bbbbbbbb joined the line of a before cccccccc, which had come before");
}

TEST_F(JudgeLineTest, LaterWaiterIsServedFirst) {
  HolderAndTwoWaiters();
  Release('a', 100);
  Offer(TryOf('c', 2, 2), 2, 100);
  ExpectOne("cccccccc was given a before bbbbbbbb, which had come before");
}

TEST_F(JudgeLineTest, AcquireThatDoesNotWaitBargesIn) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Release('a', 100);
  Give(TryOf('d', 1, 2), 2, 110);
  ExpectOne("dddddddd was given a before bbbbbbbb, which had come before");
}

TEST_F(JudgeLineTest, NewcomerGetsAnEarlierNumber) {
  HolderAndTwoWaiters();
  judge_.Joined(TryOf('d', 1, 2), 9, At(20));
  EXPECT_EQ(judge_.violations().size(), 2U);
  EXPECT_THAT(judge_.violations().front(),
              testing::HasSubstr("dddddddd joined the line of a before bbbbbbbb"));
}

TEST_F(JudgeLineTest, WaitersOfAPausedDaemonMayBeOvertaken) {
  HolderAndTwoWaiters();
  judge_.Disturbed(DaemonId(2), At(5'000));
  judge_.Joined(TryOf('d', 3, 1), 12, At(20));
  Release('a', 100);
  Offer(TryOf('d', 3, 1), 2, 100);
  ExpectNone();
}

TEST_F(JudgeLineTest, WaiterIsNotPutBackInItsPlaceAfterAPause) {
  HolderAndTwoWaiters();
  judge_.Disturbed(DaemonId(2), At(5'000));
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  judge_.InPlace(DaemonId(2), "a", At(4'000));
  Release('a', 4'900);
  Give(TryOf('d', 3, 1), 2, 4'900);
  ExpectNone();
  judge_.InPlace(DaemonId(2), "a", At(5'010));
  Release('d', 5'020);
  Give(TryOf('e', 3, 2), 3, 5'020);
  ExpectOne("eeeeeeee was given a before bbbbbbbb, which had come before");
}

TEST_F(JudgeLineTest, DaemonThatNeverAsksAgainIsInOrderAfterAWhile) {
  HolderAndTwoWaiters();
  judge_.Disturbed(DaemonId(2), At(500));
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Release('a', 600);
  Give(TryOf('d', 3, 1), 2, 600);
  ExpectNone();
  Release('d', 610);
  Give(TryOf('e', 3, 2), 3, 6'510);
  ExpectOne("eeeeeeee was given a before bbbbbbbb, which had come before");
}

// B is offered the lock while its daemon stands still, which goes on 5 ms before the offer ends.
class JudgeLapsedOfferTest : public JudgeHistory {
 protected:
  void LapsedOffer(int64_t disturbed_until) {
    HolderAndTwoWaiters();
    judge_.Disturbed(DaemonId(2), At(disturbed_until));
    Release('a', 100);
    Turn offer = TurnOf(TryOf('b', 2, 1), 2, 100, /*offered=*/true);
    offer.daemon_claims = true;
    judge_.TurnGiven(offer, At(100));
    judge_.InPlace(DaemonId(2), "a", At(1'096));
  }
  // The offer's end is found by `finder`.
  void GiveToAnother(int finder, int64_t now) {
    Turn turn = TurnOf(TryOf('d', 3, 1), 3, now);
    turn.given_by = DaemonId(finder);
    judge_.TurnGiven(turn, At(now));
  }
};

TEST_F(JudgeLapsedOfferTest, DaemonThatGoesOnTooLateToClaimIsPassedOverUntilItAsksAgain) {
  LapsedOffer(1'095);
  GiveToAnother(3, 1'101);
  ExpectNone();
  judge_.InPlace(DaemonId(2), "a", At(1'110));
  Release('d', 1'120);
  Give(TryOf('e', 3, 2), 4, 1'120);
  EXPECT_EQ(judge_.violations().size(), 2U);
  EXPECT_THAT(judge_.violations().front(),
              testing::HasSubstr("eeeeeeee was given a before bbbbbbbb"));
}

TEST_F(JudgeLapsedOfferTest, DaemonThatFindsItsOfferLapsedIsNotPassedOver) {
  LapsedOffer(1'095);
  GiveToAnother(2, 1'101);
  ExpectOne("dddddddd was given a before cccccccc, which had come before");
}

TEST_F(JudgeLapsedOfferTest, DaemonThatHadTheTimeToClaimIsNotPassedOver) {
  LapsedOffer(1'050);
  GiveToAnother(3, 1'101);
  ExpectOne("dddddddd was given a before cccccccc, which had come before");
}

TEST_F(JudgeLineTest, WaitersOfADaemonThatIsGoneMayBeOvertaken) {
  HolderAndTwoWaiters();
  judge_.DaemonGone(DaemonId(2), At(50));
  Release('a', 100);
  Give(TryOf('d', 3, 1), 2, 100);
  ExpectNone();
}

TEST_F(JudgeLineTest, WaiterComesBackToItsPlaceOverAnotherDaemon) {
  HolderAndTwoWaiters();
  judge_.DaemonGone(DaemonId(2), At(50));
  judge_.Joined(TryOf('b', 3, 1), 10, At(60));
  Release('a', 100);
  Offer(TryOf('b', 3, 1), 2, 100);
  ExpectNone();
}

TEST_F(JudgeLineTest, WaiterLosesItsPlaceOnTheWayToAnotherDaemon) {
  HolderAndTwoWaiters();
  judge_.DaemonGone(DaemonId(2), At(50));
  judge_.Joined(TryOf('b', 3, 1), 12, At(60));
  ExpectOne("bbbbbbbb lost its place in the line of a");
}

TEST_F(JudgeLineTest, WaiterThatDidNotClaimLosesItsPlace) {
  HolderAndTwoWaiters();
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  judge_.Answered(TryOf('b', 2, 1), At(100));
  judge_.Joined(TryOf('b', 2, 3), 12, At(150));
  ExpectOne("bbbbbbbb lost its place in the line of a");
}

TEST_F(JudgeLineTest, WaiterThatMissedItsOfferIsOfferedTheLockAgain) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  judge_.InPlace(DaemonId(2), "a", At(1'200));
  Offer(TryOf('b', 2, 1), 3, 1'200);
  Claim('b', 1'210);
  ExpectNone();
}

TEST_F(JudgeLineTest, WaiterThatMissedItsOfferIsForgotten) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  judge_.InPlace(DaemonId(2), "a", At(1'200));
  judge_.Withdrawn(TryOf('b', 2, 1), At(1'300));
  ExpectOne("the lock was free for 100 ms while bbbbbbbb stood in line");
}

TEST_F(JudgeLineTest, WaiterThatMissedItsOfferIsOvertaken) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  judge_.InPlace(DaemonId(2), "a", At(1'200));
  Give(TryOf('d', 3, 1), 3, 1'210);
  ExpectOne("dddddddd was given a before bbbbbbbb, which had come before");
}

TEST_F(JudgeLineTest, ClientThatDidNotClaimWaitsNoLonger) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  judge_.Answered(TryOf('b', 2, 1), At(101));
  judge_.InPlace(DaemonId(2), "a", At(1'200));
  Give(TryOf('d', 3, 1), 3, 1'300);
  ExpectNone();
}

TEST_F(JudgeLineTest, WhoeverHasTheOfferDoesNotStandInLine) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  judge_.InPlace(DaemonId(2), "a", At(1'000));
  judge_.Withdrawn(TryOf('b', 2, 1), At(1'099));
  Give(TryOf('d', 3, 1), 3, 2'000);
  ExpectNone();
}

// --- nobody is forgotten, nobody waits for the dead

TEST_F(JudgeLineTest, LockStaysFreeWhileAWaiterStandsInLine) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 200);
  ExpectOne("the lock was free for 100 ms while bbbbbbbb stood in line");
}

TEST_F(JudgeLineTest, WaitEndsAlthoughTheLockIsFree) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  judge_.Extended("a", IdOf('a'), At(1'500), At(100));
  judge_.Withdrawn(TryOf('b', 2, 1), At(1'600));
  ExpectOne("the lock was free for 100 ms while bbbbbbbb stood in line");
}

TEST_F(JudgeLineTest, EndOfAShortLeaseMayBeFoundByThePoll) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  Offer(TryOf('b', 2, 1), 2, kTtl + 90);
  ExpectNone();
}

TEST_F(JudgeLineTest, ExpiryMayTakeItsTime) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('c', 2, 2), At(50));
  judge_.Extended("a", IdOf('a'), At(1'500), At(100));
  Offer(TryOf('b', 2, 1), 2, 1'540);
  ExpectNone();
}

TEST_F(JudgeLineTest, LockIsOfferedToAWaiterOfADeadDaemon) {
  HolderAndTwoWaiters();
  judge_.DaemonGone(DaemonId(2), At(50));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  ExpectOne("a was offered to bbbbbbbb, whose daemon is gone");
}

TEST_F(JudgeLineTest, LastWordOfADeadDaemonMayBringItAnOffer) {
  HolderAndTwoWaiters();
  judge_.DaemonGone(DaemonId(2), At(50));
  Release('a', 100);
  Turn turn;
  turn.to = TryOf('b', 2, 1);
  turn.token = 2;
  turn.offered = true;
  turn.end = At(1'100);
  turn.given_by = DaemonId(2);
  judge_.TurnGiven(turn, At(100));
  ExpectNone();
}

TEST_F(JudgeLineTest, WaiterThatWasGivenUpIsServed) {
  HolderAndTwoWaiters();
  judge_.GivenUp(TryOf('b', 2, 1), At(20));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  ExpectOne("bbbbbbbb kept its place in line for 80 ms after it had been given up");
}

TEST_F(JudgeLineTest, WaiterThatWasGivenUpStaysInLine) {
  HolderAndTwoWaiters();
  judge_.GivenUp(TryOf('c', 2, 2), At(20));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  ExpectOne("cccccccc kept its place in line for 80 ms after it had been given up");
}

TEST_F(JudgeLineTest, WaiterThatWasGivenUpLeavesLate) {
  HolderAndTwoWaiters();
  judge_.GivenUp(TryOf('b', 2, 1), At(20));
  judge_.GivenUp(TryOf('c', 2, 2), At(20));
  judge_.Withdrawn(TryOf('b', 2, 1), At(70));
  ExpectNone();
  judge_.Withdrawn(TryOf('c', 2, 2), At(71));
  ExpectOne("cccccccc kept its place in line for 51 ms after it had been given up");
}

TEST_F(JudgeLineTest, WaiterThatWasGivenUpInAFaultLeavesSoonAfterIt) {
  HolderAndTwoWaiters();
  judge_.Extended("a", IdOf('a'), At(9'000), At(20));
  judge_.GivenUp(TryOf('b', 2, 1), At(20));
  judge_.GivenUp(TryOf('c', 2, 2), At(20));
  judge_.Disturbed(DaemonId(2), At(1'000));
  judge_.Withdrawn(TryOf('b', 2, 1), At(2'500));
  ExpectNone();
  judge_.Withdrawn(TryOf('c', 2, 2), At(2'501));
  ExpectOne("cccccccc kept its place in line for 2481 ms after it had been given up");
}

TEST_F(JudgeLineTest, DaemonThatIsGoneTakesNothingBack) {
  HolderAndTwoWaiters();
  judge_.GivenUp(TryOf('b', 2, 1), At(20));
  judge_.DaemonGone(DaemonId(2), At(30));
  Release('a', 100);
  Give(TryOf('d', 3, 1), 2, 100);
  ExpectNone();
}

TEST_F(JudgeLineTest, PlaceThatARetryTookOverMayStay) {
  HolderAndTwoWaiters();
  judge_.GivenUp(TryOf('b', 2, 1), At(20));
  judge_.Joined(TryOf('b', 3, 1), 10, At(70));
  Release('a', 200);
  Offer(TryOf('b', 3, 1), 2, 200);
  ExpectNone();
}

TEST_F(JudgeLineTest, PlaceOfARetryThatGotTheOfferMayStay) {
  OfferToTheFirstWaiter();
  judge_.Repeated(TryOf('b', 3, 1), 2, At(30));
  judge_.GivenUp(TryOf('b', 2, 1), At(40));
  Offer(TryOf('c', 2, 2), 3, 1'030);
  ExpectNone();
}

TEST_F(JudgeLineTest, PlaceOfAnEarlierAttemptThatFoundTheOfferIsNotItsOwn) {
  OfferToTheFirstWaiter();
  judge_.Repeated(TryOf('b', 3, 1), 0, At(30));
  judge_.GivenUp(TryOf('b', 3, 1), At(40));
  Offer(TryOf('c', 2, 2), 3, 1'030);
  ExpectNone();
}

TEST_F(JudgeLineTest, OfferMayCrossTheCallersEnd) {
  HolderAndTwoWaiters();
  judge_.GivenUp(TryOf('b', 2, 1), At(80));
  Release('a', 100);
  Offer(TryOf('b', 2, 1), 2, 100);
  ExpectNone();
}

TEST_F(JudgeLineTest, PlaceIsTakenBackByACallThatDoesNotWaitThere) {
  HolderAndTwoWaiters();
  judge_.Joined(TryOf('b', 3, 1), 10, At(50));
  judge_.Withdrawn(TryOf('b', 2, 1), At(60));
  ExpectOne("was taken back by a call that does not wait there");
}

TEST_F(JudgeLineTest, DaemonThatDrainsGivesAPlaceUp) {
  HolderAndTwoWaiters();
  judge_.Drained(TryOf('b', 2, 1));
  judge_.Answered(TryOf('b', 2, 1), At(50));
  judge_.Withdrawn(TryOf('b', 2, 1), At(60));
  ExpectOne("a daemon that drains gave up the place of bbbbbbbb");
}

// --- definite answers

TEST_F(JudgeLineTest, WaiterIsToldThatItsWaitIsOverButStands) {
  HolderAndTwoWaiters();
  judge_.Refused(TryOf('b', 2, 1), At(50));
  ExpectOne("bbbbbbbb was told that it has not got a, but still stands in line");
}

TEST_F(JudgeLineTest, WaiterIsToldThatItsWaitIsOverAfterItLeft) {
  HolderAndTwoWaiters();
  judge_.Withdrawn(TryOf('b', 2, 1), At(49));
  judge_.Refused(TryOf('b', 2, 1), At(50));
  ExpectNone();
}

TEST_F(JudgeLineTest, OlderCallIsRefusedWhileTheNewerOneWaits) {
  HolderAndTwoWaiters();
  judge_.Joined(TryOf('b', 3, 1), 10, At(40));
  judge_.Refused(TryOf('b', 2, 1), At(50));
  ExpectNone();
}

TEST_F(JudgeLineTest, AcquireIsRefusedThatHasTheLock) {
  Give(TryOf('a'), 1, 0);
  judge_.Refused(TryOf('a'), At(50));
  ExpectOne("aaaaaaaa was told that it has not got a, but it has");
}

TEST_F(JudgeLineTest, RefusedAcquireIsServedLater) {
  judge_.Refused(TryOf('b'), At(0));
  Give(TryOf('b'), 1, 50);
  ExpectOne("bbbbbbbb was given a after it was refused");
}

TEST_F(JudgeLineTest, RefusedAcquireJoinsTheLineLater) {
  Give(TryOf('a'), 1, 0);
  judge_.Refused(TryOf('b'), At(10));
  judge_.Joined(TryOf('b'), 10, At(20));
  ExpectOne("bbbbbbbb was let into the line of a after it was refused");
}

TEST_F(JudgeLineTest, NextAttemptOfARefusedAcquireIsServed) {
  judge_.Refused(TryOf('b', 1, 1), At(0));
  Give(TryOf('b', 2, 1), 1, 50);
  ExpectNone();
}

TEST_F(JudgeLineTest, ReleasedLeaseIdIsServed) {
  Release('b', 0);
  Give(TryOf('b'), 1, 50);
  ExpectOne("bbbbbbbb was given a after it was released");
}

TEST_F(JudgeLineTest, ReleasedLeaseIdJoinsTheLine) {
  Give(TryOf('a'), 1, 0);
  Release('b', 10);
  judge_.Joined(TryOf('b'), 10, At(20));
  ExpectOne("bbbbbbbb was let into the line of a after it was released");
}

TEST_F(JudgeLineTest, ShortVoidListMayForget) {
  Release('z', 0);
  for (int i = 0; i < 12; ++i) Release(static_cast<char>('a' + i), i + 1);
  Give(TryOf('z'), 1, 50);
  ExpectNone();
}

TEST_F(JudgeLineTest, CallThatLeavesAnOfferOfTwoCallsLeavesItsPlace) {
  OfferToTheFirstWaiter();
  judge_.Repeated(TryOf('b', 2, 3), 1, At(25));
  judge_.GivenUp(TryOf('b', 2, 3), At(30));
  judge_.WithdrawalKept(TryOf('b', 2, 3), At(40));
  Offer(TryOf('c', 2, 2), 3, 1'100);
  ExpectNone();
}

TEST_F(JudgeLineTest, CallThatLeavesAnOfferOfTwoCallsLeavesNoPlaceOfTheOther) {
  OfferToTheFirstWaiter();
  judge_.Repeated(TryOf('b', 2, 3), 1, At(25));
  judge_.GivenUp(TryOf('b', 2, 3), At(30));
  judge_.WithdrawalKept(TryOf('b', 2, 1), At(40));
  Offer(TryOf('c', 2, 2), 3, 1'100);
  ExpectOne("bbbbbbbb kept its place in line for 1070 ms after it had been given up");
}

TEST_F(JudgeLineTest, WithdrawalsOfWhatOthersKeepFillTheVoidListToo) {
  Release('z', 0);
  for (int i = 0; i < 12; ++i) judge_.WithdrawalKept(TryOf('y'), At(20));
  Give(TryOf('z'), 1, 50);
  ExpectNone();
}

}  // namespace
}  // namespace lockkeeper::simulation
