// SPDX-License-Identifier: Apache-2.0
#include "simulation/judge.h"
#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

class JudgeLossesTest : public JudgeHistory {
 protected:
  static constexpr int kQuarantine = 2 * kTtl;

  // The store loses something at `now`, and all know at once.
  void Lose(Forgot forgot, int64_t now) {
    judge.StoreLost(forgot, At(now));
    judge.EpochBegan(At(now + kQuarantine));
  }

  void TakeBack(char id, int64_t token, int64_t now) {
    Turn turn;
    turn.to = {"a", IdOf(id), ""};
    turn.token = token;
    turn.end = At(now + kTtl);
    judge.Reasserted(turn, At(now));
  }
};

TEST_F(JudgeLossesTest, LockIsGivenWhileAForgottenLeaseRuns) {
  Give(TryOf('a'), 1, 0);
  judge.StoreLost(Forgot::kSome, At(10));
  Give(TryOf('b'), 2, kTtl - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
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
  judge.ClockSet(core::Millis(2 * kTtl), At(10));
  Give(TryOf('b'), 2, kTtl - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeLossesTest, LeaseThatIsShorterThanItsOfferWasIsOverAtItsOwnEnd) {
  Offer(TryOf('a'), 1, 0);
  judge.Extended("a", IdOf('a'), At(310), At(10));
  judge.StoreLost(Forgot::kNothing, At(20));
  Give(TryOf('b'), 2, 320);
  ExpectNone();
}

// Only answers tell of a small step: what it gives nobody may hear of.
TEST_F(JudgeLossesTest, LockIsGivenByAClockThatWasSetAndTheClientHearsOfIt) {
  Give(TryOf('a'), 1, 0);
  judge.ClockSet(core::Millis(1'000), At(10));
  Give(TryOf('b'), 2, kTtl - 900);
  judge.Granted("a", 2, true, At(kTtl - 900), At(kTtl - 800));
  ExpectOne("a wrong clock had given it");
}

TEST_F(JudgeLossesTest, LockIsGivenByAClockThatWasSetAndNobodyHearsOfItInTime) {
  Give(TryOf('a'), 1, 0);
  judge.ClockSet(core::Millis(1'000), At(10));
  Give(TryOf('b'), 2, kTtl - 900);
  judge.Granted("a", 2, true, At(kTtl - 900), At(kTtl));
  ExpectNone();
}

TEST_F(JudgeLossesTest, ClockThatIsSetBackABitIsStillWrong) {
  Give(TryOf('a'), 1, 0);
  judge.ClockSet(core::Millis(1'000), At(10));
  judge.ClockSet(core::Millis(-50), At(11));
  Give(TryOf('b'), 2, kTtl - 900);
  ExpectNone();
}

TEST_F(JudgeLossesTest, SlewedClockMayTakeALateReleaseForNoneOrAnEarlyOneForLate) {
  judge.ClockSlewed();
  Give(TryOf('a'), 1, 0);
  judge.Released("a", IdOf('a'), At(kTtl - 5));
  Give(TryOf('b'), 2, kTtl);
  judge.Granted("a", 2, true, At(kTtl), At(kTtl));
  judge.Released("a", IdOf('b'), At(2 * kTtl + 5));
  Give(TryOf('c'), 3, 2 * kTtl + 6);
  judge.Granted("a", 3, false, At(2 * kTtl + 6), At(2 * kTtl + 6));
  ExpectNone();
}

TEST_F(JudgeLossesTest, LockIsGivenByAClockOfWhichAllKnowThatItWasSet) {
  Give(TryOf('a'), 1, 0);
  judge.ClockSet(core::Millis(1'000), At(10));
  judge.EpochBegan(At(11));
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
  judge.StoreLost(Forgot::kSome, At(10));
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
  judge.ToldLost("a", 1, At(20));
  ExpectOne("is lost, but it runs");
}

TEST_F(JudgeLossesTest, TokenIsAdmittedWithoutAProof) {
  Give(TryOf('a'), 1, 0);
  Lose(Forgot::kNothing, 10);
  judge.Fenced("a", 1, true);
  ExpectOne("was admitted without a proof");
}

TEST_F(JudgeLossesTest, QuarantineWithoutALoss) {
  judge.EpochBegan(At(kQuarantine));
  ExpectOne("although nothing was lost");
}

TEST_F(JudgeLossesTest, OneLossMakesOneQuarantine) {
  Lose(Forgot::kSome, 0);
  judge.EpochBegan(At(kQuarantine));
  ExpectOne("although nothing was lost");
}

}  // namespace
}  // namespace lockkeeper::simulation
