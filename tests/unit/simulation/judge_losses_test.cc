// SPDX-License-Identifier: Apache-2.0
#include "simulation/judge.h"
#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

class JudgeLossesTest : public JudgeHistory {
 protected:
  static constexpr int kQuarantine = 2 * kTtl;
  static constexpr int kHold = 4 * kTtl;

  // The store loses something at `now`, and all know at once.
  void Lose(Forgot forgot, int64_t now) {
    judge_.StoreLost(forgot, At(now));
    judge_.EpochBegan(At(now + kQuarantine));
  }

  // A gets the lock at 0, with token 1.
  void GiveWithLockDelay() {
    Turn turn;
    turn.to = TryOf('a');
    turn.attempt = 1;
    turn.token = 1;
    turn.end = At(kTtl);
    turn.lock_delay = core::Millis(300);
    judge_.TurnGiven(turn, At(0));
  }

  // A gets the lock at 0, with token 1; it is closed until kHold.
  void GiveWithHold() {
    Turn turn = TurnOf(TryOf('a'), 1, 0);
    turn.hold_at_least = core::Millis(kHold);
    judge_.TurnGiven(turn, At(0));
  }

  // Daemon 1 tells that it has released it.
  void GiveAndRelease(char id, int64_t token, int64_t now) {
    Give(TryOf(id), token, now);
    Release(id, now + 5);
    judge_.ToldReleased("a", IdOf(id), DaemonId(1));
  }

  void TakeBack(char id, int64_t token, int64_t now, int daemon = 1, int hold_left = 0) {
    Turn turn;
    turn.hold_at_least = core::Millis(hold_left);
    turn.given_by = DaemonId(daemon);
    turn.to = {"a", IdOf(id), ""};
    turn.token = token;
    turn.end = At(now + kTtl);
    judge_.Reasserted(turn, At(now));
  }
};

TEST_F(JudgeLossesTest, LockIsGivenWhileAForgottenLeaseRuns) {
  Give(TryOf('a'), 1, 0);
  judge_.StoreLost(Forgot::kSome, At(10));
  Give(TryOf('b'), 2, kTtl - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeLossesTest, WhoHasItsLeaseBackStandsInNoLine) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  judge_.Joined(TryOf('a', 2, 2), 10, At(20));  // A copy of its acquire stands again.
  TakeBack('a', 1, 30);
  judge_.GivenUp(TryOf('a', 2, 2), At(40));
  Release('a', 500);
  ExpectNone();
}

TEST_F(JudgeLossesTest, DaemonTakesALeaseBackThatItHadReleased) {
  GiveAndRelease('a', 1, 0);
  Lose(Forgot::kSome, 20);
  TakeBack('a', 1, 30, 1);
  ExpectOne("back over the daemon that had released it");
}

TEST_F(JudgeLossesTest, AnotherDaemonTakesLeasesBackWhoseReleaseIsForgotten) {
  GiveAndRelease('a', 1, 0);
  GiveAndRelease('b', 2, 10);
  Lose(Forgot::kSome, 20);
  TakeBack('a', 1, kTtl - 1, 2);
  TakeBack('b', 2, kTtl + 5, 2);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LeaseWhoseReleaseIsForgottenIsTakenBackAfterItsEnd) {
  GiveAndRelease('a', 1, 0);
  Give(TryOf('b'), 2, 20);
  Lose(Forgot::kSome, 30);
  TakeBack('a', 1, 2 * kTtl + 1,
           2);  // A daemon that knows the clock by a slow answer may err by one.
  ExpectOne("back after its lease had ended");
}

TEST_F(JudgeLossesTest, LockIsGivenInAQuarantine) {
  Lose(Forgot::kSome, 0);
  Give(TryOf('a'), 1, kQuarantine - 1);
  ExpectOne("in a quarantine");
}

TEST_F(JudgeLossesTest, LockIsGivenAfterAQuarantine) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  Give(TryOf('b'), 2, 10 + kQuarantine);
  ExpectNone();
}

TEST_F(JudgeLossesTest, TokenFallsWhenTheStoreHasForgotten) {
  Give(TryOf('a'), 2, 0);
  Lose(Forgot::kSome, 10);
  Give(TryOf('b'), 1, 10 + kQuarantine);
  ExpectOne("the token 1 after 2");
}

TEST_F(JudgeLossesTest, ClockThatIsSetDoesNotEndTheLeaseThatItsHolderBelievesIn) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(core::Millis(2 * kTtl), At(10));
  Give(TryOf('b'), 2, kTtl - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeLossesTest, LeaseThatIsShorterThanItsOfferWasIsOverAtItsOwnEnd) {
  Offer(TryOf('a'), 1, 0);
  judge_.Extended("a", IdOf('a'), At(310), At(10));
  judge_.StoreLost(Forgot::kNothing, At(20));
  Give(TryOf('b'), 2, 320);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LeaseIsReleasedInTimeByAClockThatWasSetBack) {
  GiveWithLockDelay();
  judge_.ClockSet(-core::Millis(40), At(500));
  Release('a', kTtl + 39);
  Give(TryOf('b'), 2, kTtl + 40);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LeaseIsReleasedTooLateByAClockThatWasSetBack) {
  GiveWithLockDelay();
  judge_.ClockSet(-core::Millis(40), At(500));
  Release('a', kTtl + 40);
  Give(TryOf('b'), 2, kTtl + 41);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeLossesTest, OfferIsReleasedThatAClockSetBackMadeLonger) {
  Offer(TryOf('a'), 1, 0);
  judge_.ClockSet(-core::Millis(60 * kTtl), At(500));
  judge_.EpochBegan(At(500 + kQuarantine));
  Release('a', 2 * kTtl);
  judge_.Refused(TryOf('a'), At(2 * kTtl + 1));
  ExpectNone();
}

TEST_F(JudgeLossesTest, OfferThatAClockSetBackMadeLongerIsRefusedWithoutARelease) {
  Offer(TryOf('a'), 1, 0);
  judge_.ClockSet(-core::Millis(60 * kTtl), At(500));
  judge_.Refused(TryOf('a'), At(2 * kTtl + 1));
  ExpectOne("was told that it has not got a, but it has");
}

TEST_F(JudgeLossesTest, OlderDataOfferALockToOneThatWasReleasedBeforeTheLoss) {
  HolderAndTwoWaiters();
  Release('b', 20);
  Lose(Forgot::kSome, 30);
  judge_.Refused(TryOf('b', 2, 1), At(40));
  Offer(TryOf('b', 2, 1), 2, 30 + kQuarantine);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LockIsOfferedToOneThatWasReleasedAndRefusedAfterTheLoss) {
  HolderAndTwoWaiters();
  Lose(Forgot::kSome, 30);
  Release('b', 35);
  judge_.Refused(TryOf('b', 2, 1), At(40));
  Offer(TryOf('b', 2, 1), 2, 30 + kQuarantine);
  EXPECT_THAT(judge_.violations(), testing::Contains(testing::HasSubstr("after it was refused")));
}

TEST_F(JudgeLossesTest, LeaseThatItsHolderHasProvedIsTakenBackByAnOldCallOfItsAcquire) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  TakeBack('a', 1, 20);
  judge_.Repeated(TryOf('a', 2, 7), 1, At(30));
  judge_.Withdrawn(TryOf('a', 2, 7), At(40));
  ExpectOne("was taken back from aaaaaaaa by a call that has not got it");
}

// Only answers tell of a small step: what it gives nobody may hear of.
TEST_F(JudgeLossesTest, LockIsGivenByAClockThatWasSetAndTheClientHearsOfIt) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(core::Millis(1'000), At(10));
  Give(TryOf('b'), 2, kTtl - 900);
  judge_.Granted("a", 2, true, At(kTtl - 900), At(kTtl - 800));
  ExpectOne("a wrong clock had given it");
}

TEST_F(JudgeLossesTest, LockIsGivenByAClockThatWasSetAndNobodyHearsOfItInTime) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(core::Millis(1'000), At(10));
  Give(TryOf('b'), 2, kTtl - 900);
  judge_.Granted("a", 2, true, At(kTtl - 900), At(kTtl));
  ExpectNone();
}

TEST_F(JudgeLossesTest, ClockThatIsSetBackABitIsStillWrong) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(core::Millis(1'000), At(10));
  judge_.ClockSet(core::Millis(-50), At(11));
  Give(TryOf('b'), 2, kTtl - 900);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LeaseEndsEarlyByAStepForwardThatFollowsOnALargerOneBack) {
  judge_.ClockSet(core::Millis(-10), At(0));
  Give(TryOf('a'), 1, 10);
  judge_.ClockSet(core::Millis(7), At(20));
  Give(TryOf('b'), 2, 10 + kTtl - 7);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LeaseEndsEarlierThanTheClockWasSetForward) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(core::Millis(7), At(20));
  Give(TryOf('b'), 2, kTtl - 8);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeLossesTest, SlewedClockMayTakeALateReleaseForNoneOrAnEarlyOneForLate) {
  judge_.ClockSlewed();
  Give(TryOf('a'), 1, 0);
  judge_.Released("a", IdOf('a'), At(kTtl - 5));
  Give(TryOf('b'), 2, kTtl);
  judge_.Granted("a", 2, true, At(kTtl), At(kTtl));
  judge_.Released("a", IdOf('b'), At(2 * kTtl + 5));
  Give(TryOf('c'), 3, 2 * kTtl + 6);
  judge_.Granted("a", 3, false, At(2 * kTtl + 6), At(2 * kTtl + 6));
  ExpectNone();
}

TEST_F(JudgeLossesTest, LockIsGivenByAClockOfWhichAllKnowThatItWasSet) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(core::Millis(1'000), At(10));
  judge_.EpochBegan(At(11));
  Give(TryOf('b'), 2, kTtl - 900);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeLossesTest, LeaseIsExtendedWithoutAProof) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kNothing, 10);
  Claim('a', 20);
  ExpectOne("without a proof");
}

TEST_F(JudgeLossesTest, LeaseIsExtendedBeforeAnybodyHasNoticedThatItMayBeForgotten) {
  Give(TryOf('a'), 1, 0);
  judge_.StoreLost(Forgot::kSome, At(10));
  Claim('a', 20);
  ExpectOne("without a proof");
}

TEST_F(JudgeLossesTest, LeaseIsTakenBackAndExtended) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  TakeBack('a', 1, 20);
  Claim('a', 30);
  Release('a', 40);
  Give(TryOf('b'), 2, 10 + kQuarantine);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LeaseIsTakenBackThatWasNever) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  TakeBack('b', 1, 20);
  ExpectOne("which it never had");
}

TEST_F(JudgeLossesTest, LeaseIsTakenBackAfterItsRelease) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  Release('a', 20);
  TakeBack('a', 1, 30);
  ExpectOne("after it was released");
}

TEST_F(JudgeLossesTest, ReleaseThatWasForgottenIsNotHeldAgainstIt) {
  Give(TryOf('a'), 1, 0);
  Release('a', 5);
  Lose(Forgot::kSome, 10);
  TakeBack('a', 1, 20);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LowerTokenIsTakenBackAfterAHigherOne) {
  Give(TryOf('a'), 1, 0);
  Release('a', 1);
  Give(TryOf('b'), 2, 2);
  Lose(Forgot::kSome, 10);
  TakeBack('b', 2, 20);
  TakeBack('a', 1, 30);
  ExpectOne("back with the token 1 after 2");
}

TEST_F(JudgeLossesTest, HigherTokenIsTakenBackAfterALowerOne) {
  Give(TryOf('a'), 1, 0);
  Release('a', 1);
  Give(TryOf('b'), 2, 2);
  Lose(Forgot::kSome, 10);
  TakeBack('a', 1, 20);
  TakeBack('b', 2, 30);
  ExpectNone();
}

TEST_F(JudgeLossesTest, HolderIsToldThatItsForgottenLeaseIsLost) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  judge_.ToldLost("a", 1, Instant::max(), At(20));
  ExpectOne("is lost, but it runs");
}

// The answers of its last extends were lost, and its proof was over.
TEST_F(JudgeLossesTest, HolderThatBelievesNoMoreIsToldAfterALossThatItsLeaseIsLost) {
  Give(TryOf('a'), 1, 0);
  judge_.Extended("a", IdOf('a'), At(kTtl + 500), At(500));
  judge_.StoreLost(Forgot::kNothing, At(600));
  judge_.ToldLost("a", 1, At(kTtl - 50), At(kTtl + 10));
  ExpectNone();
  judge_.ToldLost("a", 1, At(kTtl + 50), At(kTtl + 10));
  ExpectOne("is lost, but it runs");
}

// The step was smaller than what the answer took, so the proof ends as much too early.
TEST_F(JudgeLossesTest, HolderWithALeaseByAClockThatWasSetBackIsToldBeforeItsEndThatItIsLost) {
  judge_.ClockSet(-std::chrono::milliseconds(300), At(0));
  Give(TryOf('a'), 1, 10);
  judge_.EpochBegan(At(20));
  judge_.ToldLost("a", 1, Instant::max(), At(kTtl - 250));
  ExpectNone();
  judge_.ToldLost("a", 1, Instant::max(), At(kTtl - 350));
  ExpectOne("is lost, but it runs");
}

TEST_F(JudgeLossesTest, LeaseIsTakenBackLongAfterItsEnd) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  TakeBack('a', 1, kTtl + 1'100);
  ExpectOne("back after its lease had ended");
}

TEST_F(JudgeLossesTest, WaiterHasAnotherPlaceInTheNewLine) {
  judge_.Joined(TryOf('a'), 7, At(0));
  judge_.Joined(TryOf('b'), 8, At(1));
  Lose(Forgot::kSome, 10);
  judge_.Joined(TryOf('b'), 8, At(20));
  judge_.Joined(TryOf('a'), 7, At(21));
  ExpectNone();
  Lose(Forgot::kSome, 30);
  judge_.Joined(TryOf('a'), 20, At(40));
  ExpectOne("has another place in the new line");
}

TEST_F(JudgeLossesTest, NewcomerJoinsBeforeWaitersOfTheLostLine) {
  judge_.Joined(TryOf('a'), 7, At(0));
  Lose(Forgot::kSome, 10);
  judge_.Joined(TryOf('b'), 8, At(20));
  ExpectNone();
  judge_.Joined(TryOf('c'), 7, At(21));
  ExpectOne("which had stood in the lost one");
}

TEST_F(JudgeLossesTest, CallWhosePlaceALaterAttemptHadTakenOverHasItsPlaceAgain) {
  judge_.Joined(TryOf('a', 1, 1), 7, At(0));
  judge_.Joined(TryOf('b'), 8, At(1));
  judge_.Joined(TryOf('a', 2, 2), 7, At(2));
  Lose(Forgot::kSome, 10);
  judge_.Joined(TryOf('a', 1, 1), 8, At(20));  // Older data has given its number to somebody else.
  ExpectNone();
  Lose(Forgot::kSome, 30);
  judge_.Joined(TryOf('a', 3, 3), 6, At(40));
  ExpectOne("which had stood in the lost one");
}

TEST_F(JudgeLossesTest, NewcomerJoinsBeforeOneThatHasLeftSinceTheLoss) {
  judge_.Joined(TryOf('a'), 7, At(0));
  judge_.Joined(TryOf('b'), 8, At(1));
  Lose(Forgot::kSome, 10);
  judge_.Withdrawn(TryOf('a'), At(15));
  Release('b', 16);
  judge_.Joined(TryOf('c'), 7, At(20));
  ExpectNone();
}

TEST_F(JudgeLossesTest, ReleaseIsDeniedWhileTheLeaseRuns) {
  Give(TryOf('a'), 1, 0);
  judge_.ReleaseDenied("a", IdOf('a'), At(kTtl));
  judge_.ReleaseDenied("a", IdOf('b'), At(10));
  ExpectNone();
  judge_.ReleaseDenied("a", IdOf('a'), At(10));
  ExpectOne("but its lease runs");
}

// The script cannot know that the clock was set, but the daemon sees it in the reply.
TEST_F(JudgeLossesTest, ClientIsToldThatALeaseHasExpiredWhichAClockThatWasSetHasEnded) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(core::Millis(kTtl), At(10));
  judge_.ReleaseDenied("a", IdOf('a'), At(20));
  judge_.ToldExpired("a", IdOf('b'));
  ExpectNone();
  judge_.ToldExpired("a", IdOf('a'));
  ExpectOne("had expired before its release, but it ran");
}

// What is said of it once the quarantine is over.
TEST_F(JudgeLossesTest, ClientIsToldThatALeaseHasExpiredByAStepThatNobodyCanTellFromDrift) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(core::Millis(50), At(10));
  judge_.ReleaseDenied("a", IdOf('a'), At(20));
  judge_.ToldExpired("a", IdOf('a'));
  ExpectNone();
}

TEST_F(JudgeLossesTest, LeaseWhoseReleaseWasDoubtedIsNotSaidToHaveExpired) {
  judge_.StoreLost(Forgot::kNothing, At(0));
  Give(TryOf('a'), 1, 10);  // By a daemon that has not noticed.
  judge_.EpochBegan(At(20 + kQuarantine));
  judge_.ReleaseDoubted("a", IdOf('a'), At(30));
  Release('a', 30);
  Give(TryOf('b'), 2, 20 + kQuarantine);
  judge_.Granted("a", 2, true, At(20 + kQuarantine), At(20 + kQuarantine));
  ExpectNone();
  judge_.Granted("a", 2, false, At(20), At(20 + kQuarantine));
  ExpectOne("had not expired, but it had");
}

TEST_F(JudgeLossesTest, ClientIsNotToldThatALeaseWhoseReleaseWasDoubtedMayHaveExpired) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kNothing, 10);
  judge_.ReleaseDoubted("a", IdOf('a'), At(20));
  Release('a', 20);
  Give(TryOf('b'), 2, 10 + kQuarantine);
  judge_.Granted("a", 2, false, At(20), At(10 + kQuarantine));
  ExpectOne("had not expired, but it had");
}

// The withdrawal of an older call comes after the release, which came after the end of the lease.
TEST_F(JudgeLossesTest, LeaseWhoseReleaseWasDoubtedIsNotTakenBack) {
  Give(TryOf('a'), 1, 0);
  judge_.Delivered(TryOf('a'));
  Lose(Forgot::kNothing, 10);
  judge_.ReleaseDoubted("a", IdOf('a'), At(kTtl + 20));
  Release('a', kTtl + 20);
  judge_.Withdrawn(TryOf('a'), At(kTtl + 500));
  ExpectNone();
}

TEST_F(JudgeLossesTest, ForgottenLeaseLeavesNothingToTell) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  judge_.ReleaseDoubted("a", IdOf('a'), At(20));
  Release('a', 20);
  Give(TryOf('b'), 2, 10 + kQuarantine);
  judge_.Granted("a", 2, false, At(20), At(10 + kQuarantine));
  ExpectNone();
}

TEST_F(JudgeLossesTest, ReleaseIsDoubtedWithoutALoss) {
  Give(TryOf('a'), 1, 0);
  judge_.ReleaseDoubted("a", IdOf('b'), At(10));
  judge_.ReleaseDoubted("a", IdOf('a'), At(kTtl));
  ExpectNone();
  judge_.ReleaseDoubted("a", IdOf('a'), At(10));
  ExpectOne("but its lease runs");
}

TEST_F(JudgeLossesTest, TokenIsAdmittedWithoutAProof) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kNothing, 10);
  judge_.Fenced("a", 1, true);
  ExpectOne("was admitted without a proof");
}

TEST_F(JudgeLossesTest, LossOpensALockThatHoldAtLeastClosed) {
  GiveWithHold();
  Release('a', 5);
  Lose(Forgot::kNothing, 10);
  Give(TryOf('b'), 2, 10 + kQuarantine);
  ExpectNone();
}

TEST_F(JudgeLossesTest, LeaseIsTakenBackWithoutItsHoldAtLeast) {
  GiveWithHold();
  Lose(Forgot::kSome, 10);
  TakeBack('a', 1, 20);
  ExpectOne("closed for 0 ms by its hold_at_least");
}

TEST_F(JudgeLossesTest, LockIsGivenWithinTheHoldAtLeastThatWasTakenBack) {
  GiveWithHold();
  Lose(Forgot::kSome, 10);
  TakeBack('a', 1, 20, 1, kHold - 20);
  Release('a', 30);
  Give(TryOf('b'), 2, kHold - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

// The lease is over at kTtl, its lock_delay 300 ms later; the quarantine at 10 + 2 * kTtl.
TEST_F(JudgeLossesTest, QuarantineIsNeedlessOnceNobodyIsLeftWhoMustProve) {
  GiveWithLockDelay();
  EXPECT_FALSE(judge_.QuarantineIsNeedless(At(5))) << "there is none";
  Lose(Forgot::kSome, 10);
  judge_.BeliefBegan("a", 0, 1);
  EXPECT_FALSE(judge_.QuarantineIsNeedless(At(kTtl + 299))) << "the lock is closed";
  EXPECT_FALSE(judge_.QuarantineIsNeedless(At(kTtl + 301))) << "its client still works";
  judge_.BeliefEnded("a", 0, 1);
  EXPECT_TRUE(judge_.QuarantineIsNeedless(At(kTtl + 301)));
  EXPECT_FALSE(judge_.QuarantineIsNeedless(At(10 + kQuarantine))) << "it is over";
}

TEST_F(JudgeLossesTest, QuarantineIsNeedlessForLeasesThatAreProved) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  EXPECT_FALSE(judge_.QuarantineIsNeedless(At(20)));
  TakeBack('a', 1, 20);
  EXPECT_TRUE(judge_.QuarantineIsNeedless(At(30)));
}

// A client that proves a lease which it had given up takes the lock from one that has it.
TEST_F(JudgeLossesTest, QuarantineIsNotNeedlessWhileALeaseRunsThatALowerTokenHasOutdone) {
  Give(TryOf('a'), 1, 0);
  Release('a', 1);
  Give(TryOf('b'), 2, 5);
  Lose(Forgot::kSome, 10);
  TakeBack('a', 1, 20);
  EXPECT_FALSE(judge_.QuarantineIsNeedless(At(5 + kTtl)));
  EXPECT_TRUE(judge_.QuarantineIsNeedless(At(5 + kTtl + 1)));
}

TEST_F(JudgeLossesTest, LockIsGivenOnceTheQuarantineWasEnded) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  judge_.QuarantineEnded(At(kTtl + 1));
  Give(TryOf('b'), 2, kTtl + 2);
  ExpectNone();
}

TEST_F(JudgeLossesTest, ForgottenLeaseOutlastsAQuarantineThatWasEnded) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kSome, 10);
  judge_.QuarantineEnded(At(20));
  Give(TryOf('b'), 2, 30);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeLossesTest, QuarantineWithoutALoss) {
  judge_.EpochBegan(At(kQuarantine));
  ExpectOne("although nothing was lost");
}

TEST_F(JudgeLossesTest, OneLossMakesOneQuarantine) {
  Lose(Forgot::kSome, 0);
  judge_.EpochBegan(At(kQuarantine));
  ExpectOne("although nothing was lost");
}

}  // namespace
}  // namespace lockkeeper::simulation
