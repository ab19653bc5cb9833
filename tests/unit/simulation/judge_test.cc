// SPDX-License-Identifier: Apache-2.0
//
// Bad histories, each with the one thing that the judge has to notice, and next to it the good one
// that differs least.
#include "simulation/judge.h"

#include <gtest/gtest.h>

#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

class JudgeTest : public JudgeHistory {
 protected:
  static constexpr int kHold = 3 * kTtl;

  void GiveWithHold(char id, int64_t token, int64_t now) {
    Turn turn = TurnOf(TryOf(id), token, now);
    turn.hold_at_least = core::Millis(kHold);
    judge_.TurnGiven(turn, At(now));
  }
};

// --- tokens

TEST_F(JudgeTest, TokenNotAboveTheLastOne) {
  Give(TryOf('a'), 5, 0);
  Release('a', 100);
  Give(TryOf('b'), 5, 200);
  ExpectOne("the store gave a the token 5 after 5");
}

TEST_F(JudgeTest, GrantThatBeganAfterAnotherWasHeardOfHasALowerToken) {
  Give(TryOf('a'), 5, 0);
  Release('a', 100);
  Give(TryOf('b'), 6, 200);
  judge_.Granted("a", 6, false, At(190), At(201));
  judge_.Granted("a", 5, false, At(202), At(203));
  ExpectOne("token 5 of a is not above 6");
}

TEST_F(JudgeTest, GrantsThatOverlapMayBeHeardOfInAnyOrder) {
  Give(TryOf('a'), 5, 0);
  Release('a', 100);
  Give(TryOf('b'), 6, 200);
  judge_.Granted("a", 6, false, At(190), At(201));
  judge_.Granted("a", 5, false, At(200), At(203));
  ExpectNone();
  EXPECT_EQ(judge_.grants(), 2U);
}

TEST_F(JudgeTest, TokenThatTheStoreNeverGave) {
  Give(TryOf('a'), 5, 0);
  judge_.Granted("a", 6, false, At(0), At(1));
  ExpectOne("token 6 of a was never given");
}

TEST_F(JudgeTest, StaleTokenIsAdmitted) {
  Give(TryOf('a'), 5, 0);
  Release('a', 100);
  Give(TryOf('b'), 6, 200);
  judge_.Fenced("a", 6, true);
  judge_.Fenced("a", 5, false);
  ExpectNone();
  judge_.Fenced("a", 5, true);
  ExpectOne("token 5 of a was admitted");
}

// --- one holder

TEST_F(JudgeTest, TwoClientsBelieveAtTheSameTime) {
  judge_.BeliefBegan("a", 1, 5);
  judge_.BeliefBegan("a", 2, 6);
  ExpectOne("clients 1 and 2 hold a at the same time");
}

TEST_F(JudgeTest, ClientsBelieveOneAfterTheOther) {
  judge_.BeliefBegan("a", 1, 5);
  judge_.BeliefBegan("b", 2, 5);
  judge_.BeliefEnded("a", 1, 5);
  judge_.BeliefBegan("a", 2, 6);
  ExpectNone();
}

TEST_F(JudgeTest, LockIsGivenWhileALeaseRuns) {
  Give(TryOf('a'), 1, 0);
  Give(TryOf('b'), 2, kTtl - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeTest, LockIsGivenWhileAnExtendedLeaseRuns) {
  Give(TryOf('a'), 1, 0);
  judge_.Extended("a", IdOf('a'), At(3 * kTtl), At(500));
  Give(TryOf('b'), 2, 2 * kTtl);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeTest, RepeatIsGivenTheLockAfterItsLeaseWasReleased) {
  Give(TryOf('a'), 1, 0);
  Release('a', 1);
  for (int64_t token = 2; token < 20; ++token) {  // Long out of any list.
    const char id = static_cast<char>('a' + token);
    Give(TryOf(id), token, token);
    Release(id, token);
  }
  Turn repeat = TurnOf(TryOf('a'), 20, 20);
  repeat.attempt = 2;
  judge_.TurnGiven(repeat, At(20));
  ExpectOne("by a repeat of its acquire");
}

TEST_F(JudgeTest, RepeatIsGivenTheLockAfterItsLeaseExpired) {
  Give(TryOf('a'), 1, 0);
  Turn repeat = TurnOf(TryOf('a'), 2, kTtl);
  repeat.attempt = 2;
  judge_.TurnGiven(repeat, At(kTtl));
  ExpectOne("by a repeat of its acquire");
}

TEST_F(JudgeTest, RepeatIsGivenTheLockWithTheFirstAttemptThatStoodAgain) {
  Give(TryOf('a'), 1, 0);
  Release('a', 1);
  for (int64_t token = 2; token < 20; ++token) {
    const char id = static_cast<char>('a' + token);
    Give(TryOf(id), token, token);
    Release(id, token);
  }
  judge_.FirstAttemptStands(TryOf('a'));
  Turn repeat = TurnOf(TryOf('a'), 20, 20);
  repeat.attempt = 2;
  judge_.TurnGiven(repeat, At(20));
  ExpectNone();
}

TEST_F(JudgeTest, RepeatOfWhatWasWithdrawnIsGivenTheLock) {
  Give(TryOf('a'), 1, 0);
  judge_.Withdrawn(TryOf('a'), At(1));
  Turn repeat = TurnOf(TryOf('a', 2), 2, 2);
  repeat.attempt = 2;
  judge_.TurnGiven(repeat, At(2));
  ExpectNone();
}

TEST_F(JudgeTest, LockIsGivenWithinTheLockDelay) {
  Turn turn = Give(TryOf('a'), 1, 0);
  Release('a', 10);
  turn.token = 2;
  turn.to = TryOf('b');
  turn.lock_delay = core::Millis(500);
  turn.end = At(kTtl);
  judge_.TurnGiven(turn, At(20));
  Give(TryOf('c'), 3, kTtl + 499);
  ExpectOne("before the turn of bbbbbbbb was over");
}

TEST_F(JudgeTest, LockIsGivenWithinTheHoldAtLeastOfAReleasedLease) {
  GiveWithHold('a', 1, 0);
  Release('a', 10);
  Give(TryOf('b'), 2, kHold - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeTest, LockIsGivenWithinTheHoldAtLeastOfALeaseThatExpired) {
  GiveWithHold('a', 1, 0);
  Give(TryOf('b'), 2, kHold - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeTest, HoldAtLeastCountsFromTheClaim) {
  Turn turn = TurnOf(TryOf('a'), 1, 0);
  turn.hold_at_least = core::Millis(kHold);
  turn.offered = true;
  judge_.TurnGiven(turn, At(0));
  judge_.Extended("a", IdOf('a'), At(100 + kTtl), At(100));
  Release('a', 200);
  Give(TryOf('b'), 2, 100 + kHold - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeTest, LockIsGivenWhenTheHoldAtLeastIsOver) {
  GiveWithHold('a', 1, 0);
  Release('a', 10);
  Give(TryOf('b'), 2, kHold);
  ExpectNone();
}

TEST_F(JudgeTest, HoldAtLeastOfAWithdrawnGrantClosesNothing) {
  GiveWithHold('a', 1, 0);
  judge_.Withdrawn(TryOf('a'), At(10));
  Give(TryOf('b'), 2, 11);
  ExpectNone();
}

TEST_F(JudgeTest, LockIsGivenWhenTheLeaseOrTheOfferIsOver) {
  Give(TryOf('a'), 1, 0);
  Offer(TryOf('b'), 2, kTtl);
  Give(TryOf('c'), 3, 2 * kTtl);
  Release('c', 2 * kTtl + 1);
  Give(TryOf('d'), 4, 2 * kTtl + 1);
  ExpectNone();
}

TEST_F(JudgeTest, AnotherCallTakesTheLockBack) {
  Give(TryOf('a', 1, 1), 1, 0);
  judge_.Repeated(TryOf('a', 2, 1), 2, At(5));
  judge_.Withdrawn(TryOf('a', 1, 1), At(10));
  ExpectOne("a was taken back from aaaaaaaa by a call that has not got it");
}

TEST_F(JudgeTest, CallThatGotTheLockTakesItBack) {
  Give(TryOf('a', 1, 1), 1, 0);
  judge_.Repeated(TryOf('a', 2, 1), 2, At(5));
  judge_.Withdrawn(TryOf('a', 2, 1), At(10));
  Give(TryOf('b'), 2, 20);
  ExpectNone();
}

TEST_F(JudgeTest, CallTakesBackWhatTwoCallsOfOneAttemptGot) {
  Give(TryOf('a', 1, 1), 1, 0);
  judge_.Repeated(TryOf('a', 1, 2), 1, At(5));
  judge_.Withdrawn(TryOf('a', 1, 1), At(10));
  ExpectOne("by a call that has not got it");
}

TEST_F(JudgeTest, CallThatHasNotGotALapsedOfferTakesNothingBack) {
  Offer(TryOf('a', 1, 1), 1, 0);
  judge_.Withdrawn(TryOf('a', 2, 1), At(kTtl));
  Give(TryOf('b'), 2, kTtl);
  ExpectNone();
}

TEST_F(JudgeTest, LeaseThatItsHolderKnowsOfIsTakenBack) {
  Offer(TryOf('a'), 1, 0);
  judge_.Delivered(TryOf('a'));
  Claim('a', 10);
  judge_.Withdrawn(TryOf('a'), At(20));
  ExpectOne("a was taken back from aaaaaaaa, which knows that it has it");
}

// The message of its offer came so late that it had been released, after its end, in a quarantine.
TEST_F(JudgeTest, LeaseThatHasEndedIsTakenFromNobody) {
  Offer(TryOf('a'), 1, 0);
  judge_.Delivered(TryOf('a'));
  Claim('a', 10);
  judge_.Withdrawn(TryOf('a'), At(10 + kTtl));
  ExpectNone();
}

TEST_F(JudgeTest, OfferThatIsNotClaimedIsTakenBack) {
  Offer(TryOf('a'), 1, 0);
  judge_.Delivered(TryOf('a'));
  judge_.Withdrawn(TryOf('a'), At(20));
  ExpectNone();
}

// --- what was given up

TEST_F(JudgeTest, LeaseThatWasGivenUpIsTakenBackLate) {
  Give(TryOf('a'), 1, 0);
  judge_.GivenUp(TryOf('a'), At(10));
  judge_.Withdrawn(TryOf('a'), At(61));
  ExpectOne("aaaaaaaa kept a for 51 ms after it had been given up");
}

TEST_F(JudgeTest, LeaseThatWasGivenUpIsTakenBackInTime) {
  Give(TryOf('a'), 1, 0);
  judge_.GivenUp(TryOf('a'), At(10));
  judge_.Withdrawn(TryOf('a'), At(60));
  ExpectNone();
}

TEST_F(JudgeTest, LeaseThatWasGivenUpRunsToItsEnd) {
  Give(TryOf('a'), 1, 0);
  judge_.GivenUp(TryOf('a'), At(10));
  Give(TryOf('b'), 2, kTtl + 500);
  ExpectOne("aaaaaaaa kept a for 990 ms after it had been given up");
}

TEST_F(JudgeTest, LeaseThatComesAfterItWasGivenUpIsTakenBackInTime) {
  judge_.GivenUp(TryOf('a'), At(0));
  Give(TryOf('a'), 1, 500);
  judge_.Withdrawn(TryOf('a'), At(550));
  ExpectNone();
}

TEST_F(JudgeTest, LeaseThatWasGivenUpIsReleasedLate) {
  Give(TryOf('a'), 1, 0);
  judge_.GivenUp(TryOf('a'), At(10));
  Release('a', 61);
  ExpectOne("aaaaaaaa kept a for 51 ms after it had been given up");
}

TEST_F(JudgeTest, RetryTakesOverWhatShouldHaveBeenTakenBack) {
  Give(TryOf('a', 1, 1), 1, 0);
  judge_.GivenUp(TryOf('a', 1, 1), At(10));
  judge_.Repeated(TryOf('a', 2, 1), 2, At(61));
  ExpectOne("aaaaaaaa kept a for 51 ms after it had been given up");
}

TEST_F(JudgeTest, RetryTakesOverWhatWasGivenUp) {
  Give(TryOf('a', 1, 1), 1, 0);
  judge_.GivenUp(TryOf('a', 1, 1), At(10));
  judge_.Repeated(TryOf('a', 2, 1), 2, At(50));
  Release('a', 500);
  ExpectNone();
}

TEST_F(JudgeTest, LeaseThatWasGivenUpInAFaultIsTakenBackSoonAfterIt) {
  Give(TryOf('a', 1, 1), 1, 0);
  judge_.Extended("a", IdOf('a'), At(9'000), At(5));
  judge_.GivenUp(TryOf('a', 1, 1), At(10));
  judge_.Disturbed(DaemonId(1), At(1'000));
  judge_.Withdrawn(TryOf('a', 1, 1), At(2'501));
  ExpectOne("aaaaaaaa kept a for 2491 ms after it had been given up");
}

// --- leases

TEST_F(JudgeTest, EndedLeaseIsRevived) {
  Give(TryOf('a'), 1, 0);
  Claim('a', kTtl + 1);
  ExpectOne("aaaaaaaa extended a lease of a that it does not have");
}

TEST_F(JudgeTest, ReleasedLeaseIsExtended) {
  Give(TryOf('a'), 1, 0);
  Release('a', 10);
  Claim('a', 20);
  ExpectOne("aaaaaaaa extended a lease of a that it does not have");
}

TEST_F(JudgeTest, LapsedOfferIsClaimed) {
  Offer(TryOf('a'), 1, 0);
  Claim('a', kTtl + 1);
  ExpectOne("aaaaaaaa extended a lease of a that it does not have");
}

TEST_F(JudgeTest, LeaseOfAnotherIsExtended) {
  Give(TryOf('a'), 1, 0);
  Claim('b', 10);
  ExpectOne("bbbbbbbb extended a lease of a that it does not have");
}

TEST_F(JudgeTest, ExtendShortens) {
  Give(TryOf('a'), 1, 0);
  judge_.Extended("a", IdOf('a'), At(kTtl - 1), At(10));
  ExpectOne("an extend shortened the lease of aaaaaaaa");
}

TEST_F(JudgeTest, ClaimMayBeShorterThanTheOffer) {
  Offer(TryOf('a'), 1, 0);
  judge_.Extended("a", IdOf('a'), At(100), At(10));
  ExpectNone();
}

TEST_F(JudgeTest, ClientIsNotToldThatTheLeaseBeforeExpired) {
  Give(TryOf('a'), 1, 0);
  Give(TryOf('b'), 2, kTtl);
  judge_.Granted("a", 2, false, At(kTtl), At(kTtl));
  ExpectOne("had not expired, but it had");
}

TEST_F(JudgeTest, ClientIsToldThatAReleasedLeaseExpired) {
  Give(TryOf('a'), 1, 0);
  Release('a', 10);
  Give(TryOf('b'), 2, 20);
  judge_.Granted("a", 2, true, At(20), At(20));
  ExpectOne("had expired, but it had not");
}

TEST_F(JudgeTest, LapsedOfferCountsAsALease) {
  Give(TryOf('a'), 1, 0);
  Release('a', 10);
  Offer(TryOf('b'), 2, 10);
  Give(TryOf('c'), 3, 10 + kTtl);
  judge_.Granted("a", 3, true, At(2 * kTtl), At(2 * kTtl));
  ExpectOne("had expired, but it had not");
}

TEST_F(JudgeTest, OffersAndWithdrawnGrantsHideNoExpiry) {
  Give(TryOf('a'), 1, 0);
  Offer(TryOf('b'), 2, kTtl);
  Give(TryOf('c'), 3, 2 * kTtl);
  judge_.Withdrawn(TryOf('c'), At(2 * kTtl + 10));
  Give(TryOf('d'), 4, 2 * kTtl + 20);
  judge_.Granted("a", 4, true, At(3 * kTtl), At(3 * kTtl));
  ExpectNone();
}

TEST_F(JudgeTest, WhatTheStoreHasForgottenIsNotHeldAgainstIt) {
  Give(TryOf('a'), 1, 0);
  const int64_t later = kTtl + kRetention.count();
  Give(TryOf('b'), 2, later);
  judge_.Granted("a", 2, false, At(later), At(later));
  ExpectNone();
}

// --- calls, and what remains

TEST_F(JudgeTest, CallIsAnsweredTwice) {
  judge_.CallAsked(1);
  judge_.CallAnswered(1);
  judge_.CallAnswered(1);
  ExpectOne("call 1 was answered twice");
}

TEST_F(JudgeTest, CallIsNeverAnswered) {
  judge_.CallAsked(1);
  judge_.CallAsked(2);
  judge_.CallAsked(3);
  judge_.CallAnswered(2);
  judge_.CallGone(3);
  judge_.Remains(0, 0);
  ExpectOne("1 calls were never answered");
}

TEST_F(JudgeTest, KeysRemain) {
  judge_.Remains(2, 0);
  ExpectOne("2 keys remain in the store");
}

TEST_F(JudgeTest, OperationsRemain) {
  judge_.Remains(0, 3);
  ExpectOne("3 operations never ended");
}

}  // namespace
}  // namespace lockkeeper::simulation
