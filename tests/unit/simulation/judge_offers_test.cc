// SPDX-License-Identifier: Apache-2.0
//
// The same for offers that nobody claims.
#include <gtest/gtest.h>

#include "simulation/judge.h"
#include "unit/simulation/judge_history.h"

namespace lockkeeper::simulation {
namespace {

using JudgeOffersTest = JudgeHistory;

TEST_F(JudgeOffersTest, OfferIsDeclinedWhileItsCallWaits) {
  OfferToTheFirstWaiter();
  judge_.Declined(TryOf('b', 2, 1));
  judge_.Settled(TryOf('b', 2, 1));
  ExpectOne("an offer of a to bbbbbbbb was declined while it waited");
}

TEST_F(JudgeOffersTest, OfferIsDeclinedToOneThatIsToldThatNobodyKnows) {
  OfferToTheFirstWaiter();
  judge_.Declined(TryOf('b', 2, 1));
  judge_.Answered(TryOf('b', 2, 1), At(30));
  ExpectNone();
}

TEST_F(JudgeOffersTest, OfferIsDeclinedOnceItsCallHasAnAnswer) {
  OfferToTheFirstWaiter();
  judge_.Settled(TryOf('b', 2, 1));
  judge_.Answered(TryOf('b', 2, 1), At(30));
  judge_.Declined(TryOf('b', 2, 1));
  ExpectNone();
}

TEST_F(JudgeOffersTest, OfferIsPassedOverUnlessItsClientKnowsOfIt) {
  OfferToTheFirstWaiter();
  judge_.PassedOver(TryOf('b', 2, 1), At(20));
  Offer(TryOf('c', 2, 2), 3, 20);
  ExpectNone();
  judge_.Delivered(TryOf('c', 2, 2));
  judge_.PassedOver(TryOf('c', 2, 2), At(30));
  ExpectOne("an offer of a to cccccccc, which knows of it, was passed over");
}

TEST_F(JudgeOffersTest, PassedOverWaiterDoesNotStandAgain) {
  OfferToTheFirstWaiter();
  judge_.PassedOver(TryOf('b', 2, 1), At(20));
  Offer(TryOf('c', 2, 2), 3, 20);
  ExpectNone();
  Offer(TryOf('d', 2, 3), 4, 5'021);
  ExpectOne("bbbbbbbb was passed over and has not stood in the line again");
}

TEST_F(JudgeOffersTest, LeaseIsToldOfWhichLessIsConfirmedThanItsOfferAskedFor) {
  OfferToTheFirstWaiter();
  Try what = TryOf('b', 2, 1);
  what.min_assurance = core::Assurance::kReplicas;
  core::Lease lease;
  lease.name = what.lock;
  lease.lease_id = *core::LeaseId::Parse(what.lease_id);
  for (const auto& [assurance, tries] :
       {std::pair(core::Assurance::kReplicas, 1), std::pair(core::Assurance::kDisk, 3)}) {
    judge_.OfferTold(what);
    for (int i = 0; i < tries; ++i) judge_.ClaimTried(what.lock, what.lease_id);
    lease.assurance = assurance;
    judge_.LeaseTold(lease);
    judge_.LeaseTold(lease);
    ExpectNone();
  }
  judge_.OfferTold(what);
  judge_.ClaimTried(what.lock, what.lease_id);
  judge_.LeaseTold(lease);
  ExpectOne("bbbbbbbb was told that it has claimed a, of which too little is confirmed");
}

// B has let its offer lapse, and so has C. Now B is offered the lock again.
TEST_F(JudgeOffersTest, ClientThatLetAnOfferLapseCostsASecondOneToo) {
  OfferToTheFirstWaiter();
  judge_.Delivered(TryOf('b', 2, 1));
  Offer(TryOf('c', 2, 2), 3, 1'020);
  Offer(TryOf('b', 2, 1), 4, 2'020);
  Offer(TryOf('c', 2, 2), 5, 3'020);
  ExpectOne("bbbbbbbb was offered a for 1000 ms after it had not claimed another offer");
}

TEST_F(JudgeOffersTest, ClientThatLetAnOfferLapseIsSetAsideAtOnce) {
  OfferToTheFirstWaiter();
  judge_.Delivered(TryOf('b', 2, 1));
  judge_.Answered(TryOf('b', 2, 1), At(20));
  Offer(TryOf('c', 2, 2), 3, 1'020);
  Offer(TryOf('b', 2, 1), 4, 2'020);
  judge_.SetAside(TryOf('b', 2, 1), At(2'030));
  Offer(TryOf('d', 2, 3), 5, 2'030);
  ExpectNone();
}

TEST_F(JudgeOffersTest, OfferThatWasClaimedAfterAllIsSetAsideByNobody) {
  OfferToTheFirstWaiter();
  judge_.Delivered(TryOf('b', 2, 1));
  Offer(TryOf('c', 2, 2), 3, 1'020);
  Offer(TryOf('b', 2, 1), 4, 2'020);
  Claim('b', 2'500);
  Offer(TryOf('c', 2, 2), 5, 3'500);
  ExpectNone();
}

TEST_F(JudgeOffersTest, WaiterIsSetAsideWhileItsCallWaits) {
  OfferToTheFirstWaiter();
  judge_.SetAside(TryOf('b', 2, 1), At(30));
  ExpectOne("the place of bbbbbbbb in the line of a was set aside while it waited");
}

TEST_F(JudgeOffersTest, OfferThatWasPutBackIsMadeToTheSameWaiterAgain) {
  OfferToTheFirstWaiter();
  judge_.PutBack(TryOf('b', 2, 1), At(30));
  Offer(TryOf('b', 2, 1), 3, 40);
  Claim('b', 50);
  ExpectNone();
}

TEST_F(JudgeOffersTest, OfferThatWasPutBackIsMadeToAnotherWaiter) {
  OfferToTheFirstWaiter();
  judge_.PutBack(TryOf('b', 2, 1), At(30));
  Offer(TryOf('c', 2, 2), 3, 40);
  ExpectOne("cccccccc was given a before bbbbbbbb, which had come before");
}

TEST_F(JudgeOffersTest, OfferIsPutBackThatItsClientKnowsOf) {
  OfferToTheFirstWaiter();
  judge_.Delivered(TryOf('b', 2, 1));
  judge_.PutBack(TryOf('b', 2, 1), At(30));
  ExpectOne("an offer of a to bbbbbbbb, which knows of it, was put back");
}

TEST_F(JudgeOffersTest, ClaimIsTakenBack) {
  OfferToTheFirstWaiter();
  Claim('b', 30);
  judge_.ClaimWithdrawn(TryOf('b', 2, 1), At(40));
  Offer(TryOf('c', 2, 2), 3, 40);
  ExpectNone();
}

TEST_F(JudgeOffersTest, ClaimIsTakenBackThatItsClientKnowsOf) {
  OfferToTheFirstWaiter();
  Claim('b', 30);
  judge_.Granted("a", 2, false, At(30), At(35));
  judge_.ClaimWithdrawn(TryOf('b', 2, 1), At(40));
  ExpectOne("a was taken back from bbbbbbbb, which knows that it has claimed it");
}

}  // namespace
}  // namespace lockkeeper::simulation
