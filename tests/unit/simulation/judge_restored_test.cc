// SPDX-License-Identifier: Apache-2.0
//
// Leases that daemons restore after a failover, and quarantines that end early because of that.
#include "simulation/judge.h"
#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

class JudgeRestoredTest : public JudgeHistory {
 protected:
  static constexpr int kQuarantine = 2 * kTtl;
  static constexpr int kTold = 900;  // When what daemon 1 told of a lease is over.

  // A holds the lock, with token 1, when the store forgets something at 10.
  void LoseWhileHeld() {
    Give(TryOf('a'), 1, 0);
    Lose(10);
  }
  void Lose(int64_t now) {
    judge_.StoreLost(Forgot::kSome, At(now));
    judge_.EpochBegan(At(now + kQuarantine));
  }

  void Restore(char id, int64_t token, int64_t now, int daemon = 1, int64_t end = kTold) {
    judge_.Restored(TurnFor(id, token, daemon, end), end > now, At(now));
  }
  // With a lock_delay.
  void RestoreClosed(char id, int64_t token, int64_t now, int64_t end, int lock_delay) {
    Turn turn = TurnFor(id, token, 1, end);
    turn.lock_delay = core::Millis(lock_delay);
    judge_.Restored(turn, end > now, At(now));
  }
  void Prove(char id, int64_t token, int64_t now) {
    judge_.Reasserted(TurnFor(id, token, 2, now + kTtl), At(now));
  }
  void EndEarly(int64_t now) { judge_.QuarantineEndedEarly(At(now)); }

  static Turn TurnFor(char id, int64_t token, int daemon, int64_t end) {
    Turn turn;
    turn.to = {"a", IdOf(id), ""};
    turn.token = token;
    turn.end = At(end);
    turn.given_by = DaemonId(daemon);
    return turn;
  }
};

TEST_F(JudgeRestoredTest, LeaseIsRestoredAndExtendedAfterTheQuarantine) {
  LoseWhileHeld();
  judge_.BeliefBegan("a", 0, 1);
  Restore('a', 1, 20);
  EndEarly(30);
  Claim('a', 40);
  judge_.Fenced("a", 1, true);
  judge_.BeliefEnded("a", 0, 1);
  Release('a', 50);
  Give(TryOf('b'), 2, 60);
  ExpectNone();
}

TEST_F(JudgeRestoredTest, LockIsGivenWhileARestoredLeaseRuns) {
  LoseWhileHeld();
  Restore('a', 1, 20);
  EndEarly(30);
  Give(TryOf('b'), 2, kTold - 1);
  ExpectOne("before the turn of aaaaaaaa was over");
}

TEST_F(JudgeRestoredTest, LockIsGivenOnceARestoredLeaseIsOver) {
  LoseWhileHeld();
  Restore('a', 1, 20);
  EndEarly(30);
  Give(TryOf('b'), 2, kTtl + 1);
  ExpectNone();
}

TEST_F(JudgeRestoredTest, LeaseIsRestoredThatWasNeverGiven) {
  LoseWhileHeld();
  Restore('b', 2, 20);
  ExpectOne("has a restored, which it never had");
}

TEST_F(JudgeRestoredTest, LeaseIsRestoredWithTheTokenOfAnotherOne) {
  LoseWhileHeld();
  Restore('b', 1, 20);
  ExpectOne("has a restored, which it never had");
}

TEST_F(JudgeRestoredTest, DaemonRestoresALeaseThatItHadReleased) {
  Give(TryOf('a'), 1, 0);
  Release('a', 5);
  judge_.ToldReleased("a", IdOf('a'), DaemonId(1));
  Lose(10);
  Restore('a', 1, 20);
  ExpectOne("restored by the daemon that had released it");
}

TEST_F(JudgeRestoredTest, AnotherDaemonRestoresALeaseWhoseReleaseItHasNotHeardOf) {
  Give(TryOf('a'), 1, 0);
  Release('a', 5);
  judge_.ToldReleased("a", IdOf('a'), DaemonId(2));
  Lose(10);
  Restore('a', 1, 20);
  ExpectNone();
}

// Its hold_at_least closes the lock, say.
TEST_F(JudgeRestoredTest, DaemonRestoresHowLongALeaseThatItHadReleasedKeepsItsLockClosed) {
  Give(TryOf('a'), 1, 0);
  Release('a', 5);
  judge_.ToldReleased("a", IdOf('a'), DaemonId(1));
  Lose(10);
  RestoreClosed('a', 1, 20, 5, 100);
  ExpectNone();
}

// Another daemon, which has not heard of the release, had restored it before: it runs on.
TEST_F(JudgeRestoredTest, DaemonRestoresHowLongALeaseIsClosedThatRunsByAnotherDaemon) {
  Give(TryOf('a'), 1, 0);
  Release('a', 5);
  judge_.ToldReleased("a", IdOf('a'), DaemonId(2));
  Lose(10);
  Restore('a', 1, 20);
  judge_.Restored(TurnFor('a', 1, 2, kTold), false, At(21));
  ExpectNone();
}

TEST_F(JudgeRestoredTest, SessionThatAdoptedARestoredLeaseReleasesItByItsEndThoughItIsProvedToo) {
  LoseWhileHeld();
  Turn adopted = TurnFor('a', 1, 2, kTold);
  adopted.to.keeper = "session";
  judge_.Restored(adopted, true, At(20));
  Prove('a', 1, 30);
  judge_.ReleasedByEnd(adopted.to, At(40));
  ExpectNone();
}

TEST_F(JudgeRestoredTest, AnotherSessionReleasesARestoredLeaseByItsEnd) {
  LoseWhileHeld();
  Turn adopted = TurnFor('a', 1, 2, kTold);
  adopted.to.keeper = "session";
  judge_.Restored(adopted, true, At(20));
  Prove('a', 1, 30);
  adopted.to.keeper = "another session";
  judge_.ReleasedByEnd(adopted.to, At(40));
  ExpectOne("which another one keeps");
}

TEST_F(JudgeRestoredTest, LeaseIsRestoredWithoutAQuarantine) {
  LoseWhileHeld();
  Restore('a', 1, 10 + kQuarantine, 1, 4 * kTtl);
  ExpectOne("restored without a quarantine");
}

TEST_F(JudgeRestoredTest, LeaseIsRestoredAfterAnEarlyEnd) {
  LoseWhileHeld();
  EndEarly(20);
  Restore('a', 1, 30);
  ExpectOne("restored without a quarantine");
}

TEST_F(JudgeRestoredTest, RestoredLeaseIsExtendedInTheQuarantine) {
  LoseWhileHeld();
  Restore('a', 1, 20);
  Claim('a', 30);
  ExpectOne("extended a lease of a that was only restored");
}

TEST_F(JudgeRestoredTest, RestoredLeaseThatWasProvedIsExtendedInTheQuarantine) {
  LoseWhileHeld();
  Restore('a', 1, 20);
  Prove('a', 1, 30);
  Claim('a', 40);
  judge_.Fenced("a", 1, true);
  ExpectNone();
}

TEST_F(JudgeRestoredTest, RestoringAfterAProofTakesNothingFromIt) {
  LoseWhileHeld();
  Prove('a', 1, 20);
  Restore('a', 1, 30);
  Claim('a', 40);
  judge_.Fenced("a", 1, true);
  ExpectNone();
}

TEST_F(JudgeRestoredTest, TokenOfARestoredLeaseIsAdmitted) {
  LoseWhileHeld();
  Restore('a', 1, 20);
  judge_.Fenced("a", 1, true);
  ExpectOne("was only restored, and admitted");
}

TEST_F(JudgeRestoredTest, TokenOfARestoredLeaseIsAdmittedAfterTheQuarantine) {
  LoseWhileHeld();
  Restore('a', 1, 20);
  EndEarly(30);
  judge_.Fenced("a", 1, true);
  ExpectOne("was only restored, and admitted");
}

TEST_F(JudgeRestoredTest, TokenOfALeaseThatIsGivenAfterARestoredOneIsAdmitted) {
  LoseWhileHeld();
  Restore('a', 1, 20);
  EndEarly(30);
  Give(TryOf('b'), 2, kTtl + 1);
  judge_.Fenced("a", 2, true);
  ExpectNone();
}

TEST_F(JudgeRestoredTest, QuarantineEndsEarlyWhileAClientBelievesInWhatWasNotRestored) {
  LoseWhileHeld();
  judge_.BeliefBegan("a", 0, 1);
  EndEarly(20);
  ExpectOne("client 0 believes in its lease of a, which was not restored");
}

TEST_F(JudgeRestoredTest, QuarantineEndsEarlyWhileNobodyBelievesInWhatWasNotRestored) {
  LoseWhileHeld();
  EndEarly(20);
  Give(TryOf('b'), 2, 30);
  ExpectNone();
}

TEST_F(JudgeRestoredTest, LockIsGivenInAQuarantineThatEndsEarlyLater) {
  LoseWhileHeld();
  Release('a', 15);
  Give(TryOf('b'), 2, 20);
  ExpectOne("in a quarantine");
}

TEST_F(JudgeRestoredTest, LockIsGivenWhileWhatAnEndedLeaseLeavesIsRestored) {
  Give(TryOf('a'), 1, 0);
  Release('a', 5);
  Lose(10);
  Restore('a', 1, 20);
  EndEarly(30);
  Give(TryOf('b'), 2, 40);  // Nobody has the lock: that it is closed costs time only.
  ExpectNone();
}

}  // namespace
}  // namespace lockkeeper::simulation
