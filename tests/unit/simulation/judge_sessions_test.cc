// SPDX-License-Identifier: Apache-2.0
//
// The same for sessions: what heartbeats say of leases, cancelled waits, streams that are gone.
#include <gtest/gtest.h>

#include "simulation/judge.h"
#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

using JudgeSessionsTest = JudgeHistory;

// --- what heartbeats say

TEST_F(JudgeSessionsTest, LeaseThatAHeartbeatDidNotNameLivesLongEnough) {
  Give(TryOf('a'), 1, 0);
  judge_.Extended("a", IdOf('a'), At(2 * kTtl), At(kTtl - 1));
  judge_.Assured("a", 1, At(2 * kTtl), At(kTtl));
  ExpectNone();
}

TEST_F(JudgeSessionsTest, LeaseThatAHeartbeatDidNotNameEndsTooEarly) {
  Give(TryOf('a'), 1, 0);
  judge_.Assured("a", 1, At(kTtl + 7), At(10));
  ExpectOne("did not name the lease of a with token 1, which was over 7 ms before it could be");
}

TEST_F(JudgeSessionsTest, LeaseThatAHeartbeatDidNotNameHadBeenGivenToAnother) {
  Give(TryOf('a'), 1, 0);
  Give(TryOf('b'), 2, kTtl);
  judge_.Assured("a", 1, At(kTtl + 1), At(kTtl + 1));
  ExpectOne("did not name the lease of a with token 1");
}

TEST_F(JudgeSessionsTest, LeaseThatAHeartbeatDidNotNameWasTakenBack) {
  Give(TryOf('a'), 1, 0);
  judge_.Withdrawn(TryOf('a'), At(10));
  judge_.Assured("a", 1, At(kTtl), At(20));
  ExpectOne("did not name the lease of a with token 1");
}

TEST_F(JudgeSessionsTest, WordOfAHeartbeatMayComeWhenTheLeaseIsOver) {
  Give(TryOf('a'), 1, 0);
  Give(TryOf('b'), 2, kTtl);
  judge_.Assured("a", 1, At(kTtl), At(kTtl + 500));
  ExpectNone();
}

TEST_F(JudgeSessionsTest, ClientIsToldThatItsLeaseIsLostButItRuns) {
  Give(TryOf('a'), 1, 0);
  judge_.ToldLost("a", 1, Instant::max(), At(kTtl - 1));
  ExpectOne("was told that its lease of a with token 1 is lost, but it runs");
}

TEST_F(JudgeSessionsTest, ClientIsToldThatItsLeaseIsLost) {
  Give(TryOf('a'), 1, 0);
  judge_.ToldLost("a", 1, Instant::max(), At(kTtl));
  Give(TryOf('b'), 2, kTtl + 10);
  judge_.ToldLost("a", 1, Instant::max(), At(kTtl + 20));
  ExpectNone();
}

// The store said so while it was over; the client hears of it while it runs once more.
TEST_F(JudgeSessionsTest, ClientIsToldThatItsLeaseIsLostAndThenTheClockIsSetBack) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(-core::Millis(500), At(kTtl));
  judge_.ToldLost("a", 1, Instant::max(), At(kTtl + 1));
  ExpectNone();
}

TEST_F(JudgeSessionsTest, ClientIsToldThatANewLeaseIsLostAfterTheClockWasSetBack) {
  Give(TryOf('a'), 1, 0);
  judge_.ClockSet(-core::Millis(500), At(kTtl));
  Give(TryOf('b'), 2, kTtl + 500);
  judge_.ToldLost("a", 2, Instant::max(), At(kTtl + 501));
  ExpectOne("was told that its lease of a with token 2 is lost, but it runs");
}

TEST_F(JudgeSessionsTest, LeaseIsExtendedAgainAndAgain) {
  Give(TryOf('a'), 1, 0);
  for (int i = 0; i < 20; ++i) Claim('a', 10 + i);
  ExpectNone();
  Claim('a', 111);
  ExpectNone();
  for (int i = 0; i < 20; ++i) Claim('a', 112 + i);
  ExpectOne("aaaaaaaa was extended again and again");
}

// --- cancelled waits

TEST_F(JudgeSessionsTest, CancelledWaitIsAnsweredSoon) {
  HolderAndTwoWaiters();
  judge_.Cancelled(TryOf('b', 2, 1), At(20));
  judge_.Withdrawn(TryOf('b', 2, 1), At(30));
  judge_.Answered(TryOf('b', 2, 1), At(31));
  ExpectNone();
}

TEST_F(JudgeSessionsTest, CancelledWaitGoesOn) {
  HolderAndTwoWaiters();
  judge_.Cancelled(TryOf('b', 2, 1), At(20));
  judge_.Answered(TryOf('b', 2, 1), At(120));
  ExpectOne("bbbbbbbb waited for a 100 ms after it was cancelled");
}

TEST_F(JudgeSessionsTest, FaultHoldsTheEndOfAWaitUp) {
  HolderAndTwoWaiters();
  judge_.Disturbed(DaemonId(2), At(400));
  judge_.Cancelled(TryOf('b', 2, 1), At(20));
  judge_.Answered(TryOf('b', 2, 1), At(500));
  ExpectNone();
}

// --- streams that are gone

TEST_F(JudgeSessionsTest, WaiterWhoseStreamIsGoneStaysInLine) {
  HolderAndTwoWaiters();
  judge_.GivenUp(TryOf('b', 2, 1), At(20));
  judge_.Answered(TryOf('b', 2, 1), At(20));
  Release('a', 200);
  Offer(TryOf('b', 2, 1), 2, 200);
  ExpectOne("bbbbbbbb kept its place in line for 180 ms after it had been given up");
}

TEST_F(JudgeSessionsTest, GrantThatNobodyHearsOfIsNotTakenBack) {
  judge_.GivenUp(TryOf('b', 2, 1), At(20));
  judge_.Answered(TryOf('b', 2, 1), At(20));
  Give(TryOf('b', 2, 1), 1, 30);
  Give(TryOf('c', 2, 2), 2, 30 + kTtl);
  ExpectOne("bbbbbbbb kept a for");
}

TEST_F(JudgeSessionsTest, LeaseThatTheClientKnowsOfIsTakenBackWithItsStream) {
  Give(TryOf('a'), 1, 0);
  judge_.Delivered(TryOf('a'));
  judge_.Withdrawn(TryOf('a'), At(50));
  ExpectOne("which knows that it has it");
}

TEST_F(JudgeSessionsTest, EndOfASessionReleasesWhatAnotherHasAdopted) {
  Give(TryOf('a'), 1, 0);
  judge_.Adopted(TryOf('a', 2, 1));
  judge_.ReleasedByEnd(TryOf('a'), At(50));
  ExpectOne("the end of a session released a of aaaaaaaa, which another one keeps");
}

TEST_F(JudgeSessionsTest, EndOfASessionReleasesWhatItHasAdopted) {
  Give(TryOf('a'), 1, 0);
  judge_.Adopted(TryOf('a', 2, 1));
  judge_.ReleasedByEnd(TryOf('a', 2, 1), At(50));
  Give(TryOf('b'), 2, 50);
  ExpectNone();
}

TEST_F(JudgeSessionsTest, SessionsRemain) {
  judge_.Remains(0, 0, 2);
  ExpectOne("2 sessions never ended");
}

}  // namespace
}  // namespace lockkeeper::simulation
