// SPDX-License-Identifier: Apache-2.0
//
// What the judge makes of waiting at a store without a line: of the order in the line of one
// daemon, and of a lock that is free while somebody waits.
#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

class JudgeLocalLinesTest : public JudgeHistory {
 protected:
  // Daemon 1's holder has the lock from 0 on; then B stands at `daemon`, and C behind it.
  void HolderAndTwoWaitersAt(int daemon) {
    Ask(TryOf('a'), 1, 0);
    judge_.StandsHere(TryOf('b', daemon, 1), At(10));
    judge_.StandsHere(TryOf('c', daemon, 2), At(11));
  }

  // It was asked for just before.
  void Ask(const Try& what, int64_t token, int64_t now) { AskSince(what, token, now, now - 1); }
  void AskSince(const Try& what, int64_t token, int64_t now, int64_t sent, int32_t attempt = 1) {
    Turn turn = TurnOf(what, token, now);
    turn.sent = At(sent);
    turn.attempt = attempt;
    judge_.TurnGiven(turn, At(now));
  }

  void ReleaseOver(int daemon, int64_t now) {
    Release('a', now);
    judge_.FreedOver(DaemonId(daemon), "a", At(now));
  }
};

TEST_F(JudgeLocalLinesTest, FirstInLineIsServed) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(2, 100);
  Ask(TryOf('b', 2, 1), 2, 103);
  judge_.LeavesHere(TryOf('b', 2, 1), At(104));

  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, SecondInLineIsServed) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(2, 100);
  Ask(TryOf('c', 2, 2), 2, 103);

  ExpectOne("which stood before it at the same daemon");
}

TEST_F(JudgeLocalLinesTest, NewcomerAtTheSameDaemonIsServed) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(2, 100);
  Ask(TryOf('d', 2, 3), 2, 103);

  EXPECT_EQ(judge_.violations().size(), 2U);
}

TEST_F(JudgeLocalLinesTest, AnotherDaemonIsServedFirst) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(1, 100);
  Ask(TryOf('d', 3, 1), 2, 103);

  ExpectNone();
}

// A loss may open the lock early, and need not.
TEST_F(JudgeLocalLinesTest, LockThatHoldAtLeastKeepsClosedAfterALoss) {
  Turn turn = TurnOf(TryOf('a'), 1, 0);
  turn.hold_at_least = core::Millis(5 * kTtl);
  judge_.TurnGiven(turn, At(0));
  judge_.StandsHere(TryOf('b', 2, 1), At(10));
  ReleaseOver(1, 100);
  judge_.StoreLost(Forgot::kSome, At(200));
  judge_.LeavesHere(TryOf('b', 2, 1), At(4 * kTtl));

  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, NewcomerThatAskedBeforeAnybodyStoodThere) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(2, 100);
  AskSince(TryOf('d', 2, 3), 2, 103, 9);

  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, QuestionOfOneThatHasLeftArrivesLate) {
  HolderAndTwoWaitersAt(2);
  judge_.LeavesHere(TryOf('b', 2, 1), At(50));
  ReleaseOver(2, 100);
  AskSince(TryOf('b', 2, 1), 2, 103, 40);

  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, LockThatASessionFreedIsReleasedAgainOverTheDaemonOfAWaiter) {
  HolderAndTwoWaitersAt(2);
  Release('a', 100);
  ReleaseOver(2, 250);
  Ask(TryOf('d', 3, 1), 2, 300);

  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, RepeatAsksThoughOthersStandThere) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(2, 100);
  AskSince(TryOf('d', 2, 3), 2, 103, 102, 2);

  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, LaterAttemptHasThePlaceOfTheEarlierOne) {
  HolderAndTwoWaitersAt(2);
  judge_.LeavesHere(TryOf('b', 2, 1), At(50));
  judge_.StandsHere(TryOf('b', 2, 3), At(50));
  ReleaseOver(2, 100);
  Ask(TryOf('c', 2, 2), 2, 103);

  ExpectOne("which stood before it at the same daemon");
}

// A daemon that stood still sends the question, and hears of the later attempt and of its end, at
// one time.
TEST_F(JudgeLocalLinesTest, QuestionOfAnAttemptWhosePlaceALaterOneHasLeftMeanwhile) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(2, 100);
  judge_.LeavesHere(TryOf('b', 2, 1), At(100));
  judge_.StandsHere(TryOf('b', 2, 3), At(100));
  judge_.LeavesHere(TryOf('b', 2, 3), At(100));
  AskSince(TryOf('b', 2, 1), 2, 103, 100);

  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, OneThatHadLeftBeforeItWasAskedForIsServed) {
  HolderAndTwoWaitersAt(2);
  judge_.LeavesHere(TryOf('b', 2, 1), At(50));
  judge_.StandsHere(TryOf('b', 2, 3), At(50));
  judge_.LeavesHere(TryOf('b', 2, 3), At(60));
  ReleaseOver(2, 100);
  AskSince(TryOf('b', 2, 1), 2, 103, 100);

  ExpectOne("which stood before it at the same daemon");
}

TEST_F(JudgeLocalLinesTest, ReleaseOverTheDaemonOfAWaiterIsFollowedAtOnce) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(2, 100);
  Ask(TryOf('d', 3, 1), 2, 151);

  ExpectOne("was free for 51 ms while somebody waited at daemon 02");
}

TEST_F(JudgeLocalLinesTest, ReleaseOverAnotherDaemonIsFoundByTheNextQuestion) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(1, 100);
  Ask(TryOf('d', 3, 1), 2, 400);
  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, ReleaseOverAnotherDaemonIsNeverFound) {
  HolderAndTwoWaitersAt(2);
  ReleaseOver(1, 100);
  judge_.LeavesHere(TryOf('b', 2, 1), At(401));

  ExpectOne("was free for 301 ms while somebody waited at daemon 02");
}

TEST_F(JudgeLocalLinesTest, EndOfALeaseIsKnown) {
  HolderAndTwoWaitersAt(2);
  Ask(TryOf('b', 2, 1), 2, kTtl + 51);

  ExpectOne("was free for 51 ms");
}

TEST_F(JudgeLocalLinesTest, EndOfALeaseThatWasSetJustBeforeIsNotKnown) {
  HolderAndTwoWaitersAt(2);
  judge_.Extended("a", IdOf('a'), At(kTtl + 10), At(kTtl - 100));
  Ask(TryOf('b', 2, 1), 2, kTtl + 100);

  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, DaemonWithAFaultAsksLater) {
  HolderAndTwoWaitersAt(2);
  judge_.Disturbed(DaemonId(2), At(2'000));
  ReleaseOver(2, 100);
  Ask(TryOf('d', 3, 1), 2, 2'300);
  ExpectNone();
}

TEST_F(JudgeLocalLinesTest, NobodyWaitsAnyMore) {
  HolderAndTwoWaitersAt(2);
  judge_.LeavesHere(TryOf('b', 2, 1), At(50));
  judge_.LeavesHere(TryOf('c', 2, 2), At(60));
  ReleaseOver(2, 100);
  Ask(TryOf('d', 3, 1), 2, 900);

  ExpectNone();
}

}  // namespace
}  // namespace lockkeeper::simulation
