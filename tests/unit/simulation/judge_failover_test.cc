// SPDX-License-Identifier: Apache-2.0
//
// A server is promoted, and the one before goes on for some daemons.
#include "simulation/judge.h"
#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

class JudgeFailoverTest : public JudgeHistory {
 protected:
  static constexpr int kPromoted = 100;
  static constexpr int kIsolation = 6'000;

  // A holds the lock, with token 1; then another server is promoted, which knows of that.
  void PromoteWhileHeld() {
    Give(TryOf('a'), 1, 0);
    judge_.Promoted(Micros(0), At(kPromoted), At(kPromoted + kIsolation), 0);
  }
  // The first daemon has moved.
  void Quarantine(int64_t now) { judge_.EpochBegan(At(now + kTtl + kIsolation)); }

  void GiveBefore(char id, int64_t token, int64_t now, int daemon = 1) {
    judge_.server_before().TurnGiven(TurnOf(TryOf(id, daemon), token, now), At(now));
  }
  void TakeBack(char id, int64_t token, int64_t now) {
    Turn turn = TurnOf({"a", IdOf(id), ""}, token, now);
    judge_.Reasserted(turn, At(now));
  }
};

TEST_F(JudgeFailoverTest, ServerBeforeMayGoOn) {
  PromoteWhileHeld();
  Quarantine(kPromoted + 10);
  StoreDeeds& before = judge_.server_before();
  before.Extended("a", IdOf('a'), At(500 + kTtl), At(500));
  before.Joined(TryOf('b', 2), 10, At(510));
  before.Released("a", IdOf('a'), At(600));
  GiveBefore('b', 2, 600, 2);
  before.Fenced("a", 2, true);
  judge_.Granted("a", 2, false, At(510), At(601));
  ExpectNone();
}

TEST_F(JudgeFailoverTest, EndedLeaseThatWasRestoredIsStillThereWhenTheServerBeforeGoesOn) {
  PromoteWhileHeld();
  judge_.server_before().Released("a", IdOf('a'), At(110));
  GiveBefore('b', 2, 110);
  Quarantine(200);
  Turn ended = TurnOf({"a", IdOf('a'), ""}, 1, 200);
  judge_.Restored(ended, /*runs=*/true, At(200));
  GiveBefore('c', 3, 300);
  judge_.Extended("a", IdOf('a'), At(400 + kTtl), At(400));
  ExpectNone();
}

TEST_F(JudgeFailoverTest, LeaseThatWasExtendedAtTheServerBeforeIsTakenBackOverAnother) {
  PromoteWhileHeld();
  Quarantine(200);
  TakeBack('a', 1, 210);
  GiveBefore('b', 2, 300, 2);
  judge_.server_before().Extended("a", IdOf('b'), At(4'000 + kTtl), At(4'000));
  judge_.server_before().Released("a", IdOf('b'), At(4'100));
  TakeBack('b', 2, 4'000 + kTtl - 10);
  ExpectNone();
}

TEST_F(JudgeFailoverTest, PromotedServerGivesWhatWasExtendedAtTheOneBefore) {
  PromoteWhileHeld();
  judge_.server_before().Extended("a", IdOf('a'), At(800 + kTtl), At(800));
  judge_.EpochBegan(At(kTtl + kPromoted));
  Give(TryOf('b', 2), 2, 800 + kTtl - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeFailoverTest, PromotedServerGivesWhatTheOneBeforeHasGiven) {
  PromoteWhileHeld();
  GiveBefore('b', 2, kTtl);
  judge_.EpochBegan(At(kTtl + kPromoted));
  Give(TryOf('c', 2), 3, 2 * kTtl - 1);
  ExpectOne("before the turn of bbbbbbbb was over");
}

TEST_F(JudgeFailoverTest, LockIsGivenInTheQuarantine) {
  PromoteWhileHeld();
  Quarantine(200);
  Give(TryOf('b', 2), 2, 200 + kTtl + kIsolation - 1);
  ExpectOne("in a quarantine");
}

TEST_F(JudgeFailoverTest, TokenOfThePromotedServerIsNotAboveThatOfTheOneBefore) {
  PromoteWhileHeld();
  GiveBefore('b', 7, kTtl);
  Quarantine(200);
  Give(TryOf('c', 2), 6, 200 + kTtl + kIsolation);
  ExpectOne("the token 6 after 7");
}

TEST_F(JudgeFailoverTest, TokenOfTheServerBeforeIsNotAboveItsLast) {
  PromoteWhileHeld();
  GiveBefore('b', 1, kTtl);
  ExpectOne("the token 1 after 1");
}

TEST_F(JudgeFailoverTest, ClientHearsOfATokenThatNeitherServerHasGiven) {
  PromoteWhileHeld();
  GiveBefore('b', 2, kTtl);
  judge_.Granted("a", 3, false, At(kTtl), At(kTtl + 1));
  ExpectOne("was never given by the store");
}

TEST_F(JudgeFailoverTest, TwoBelieveOneByEachServer) {
  PromoteWhileHeld();
  Quarantine(200);
  judge_.BeliefBegan("a", 1, 1);
  TakeBack('a', 1, 900);
  ExpectNone();
  GiveBefore('b', 2, kTtl + 1);
  judge_.BeliefBegan("a", 2, 2);
  ExpectOne("hold a at the same time");
}

TEST_F(JudgeFailoverTest, LeaseOfTheServerBeforeIsTakenBack) {
  PromoteWhileHeld();
  Quarantine(200);
  GiveBefore('b', 2, kTtl);
  TakeBack('b', 2, kTtl + 100);
  ExpectNone();
  judge_.Extended("a", IdOf('b'), At(kTtl + 200 + kTtl), At(kTtl + 200));
  ExpectNone();
}

TEST_F(JudgeFailoverTest, LeaseOfTheServerBeforeIsExtendedUnproved) {
  PromoteWhileHeld();
  Quarantine(200);
  GiveBefore('b', 2, kTtl);
  judge_.Extended("a", IdOf('b'), At(kTtl + 200 + kTtl), At(kTtl + 200));
  ExpectOne("without a proof");
}

TEST_F(JudgeFailoverTest, LeaseThatHasEndedAtTheServerBeforeIsTakenBack) {
  PromoteWhileHeld();
  Quarantine(200);
  GiveBefore('b', 2, kTtl);
  TakeBack('a', 1, 3 * kTtl);
  ExpectOne("back after its lease had ended");
}

TEST_F(JudgeFailoverTest, ServerBeforeAdmitsATokenThatIsNotItsNewest) {
  PromoteWhileHeld();
  GiveBefore('b', 2, kTtl);
  judge_.server_before().Fenced("a", 1, true);
  ExpectOne("was admitted by the server before");
}

TEST_F(JudgeFailoverTest, WaiterOfTheServerBeforeLosesItsPlace) {
  PromoteWhileHeld();
  Quarantine(200);
  judge_.server_before().Joined(TryOf('b', 2), 10, At(300));
  judge_.Joined(TryOf('b', 2), 30, At(900));
  ExpectOne("has another place in the new line");
}

TEST_F(JudgeFailoverTest, WaiterThatWasServedByTheServerBeforeNeedsNoPlace) {
  PromoteWhileHeld();
  Quarantine(200);
  judge_.server_before().Joined(TryOf('b', 2), 10, At(300));
  judge_.server_before().LeftLine("a", IdOf('b'), At(400));
  judge_.Joined(TryOf('c', 2), 9, At(900));
  ExpectNone();
}

TEST_F(JudgeFailoverTest, EndOfASessionReleasesAtTheServerBeforeWhatAnotherOneKeeps) {
  PromoteWhileHeld();
  judge_.server_before().Adopted({"a", IdOf('a'), "another"});
  judge_.server_before().ReleasedByEnd(TryOf('a'), At(200));
  ExpectOne("which another one keeps");
}

TEST_F(JudgeFailoverTest, ReleaseAtTheServerBeforeIsToldThatALiveLeaseHasExpired) {
  PromoteWhileHeld();
  judge_.server_before().ReleaseDenied("a", IdOf('a'), At(kTtl - 1));
  ExpectOne("but its lease runs");
}

TEST_F(JudgeFailoverTest, NobodyHearsOfWhatTheServerBeforeGivesTooLate) {
  PromoteWhileHeld();
  Quarantine(200);
  GiveBefore('b', 2, kPromoted + kIsolation);
  Give(TryOf('c', 2), 3, 200 + kTtl + kIsolation);
  ExpectNone();
  judge_.Granted("a", 2, false, At(200), At(kPromoted + kIsolation + 1));
  ExpectOne("was never given by the store");
}

TEST_F(JudgeFailoverTest, QuarantineIsNeedlessOnceWhatTheServerBeforeGaveIsOver) {
  PromoteWhileHeld();
  Quarantine(200);
  GiveBefore('b', 2, kTtl);
  EXPECT_FALSE(judge_.QuarantineIsNeedless(At(2 * kTtl)));
  EXPECT_TRUE(judge_.QuarantineIsNeedless(At(2 * kTtl + 1)));
}

}  // namespace
}  // namespace lockkeeper::simulation
