// SPDX-License-Identifier: Apache-2.0
//
// Withdraw: takes back what a call was granted and gives up, but never what a later send of the
// same acquire has taken over; and makes the attempt void, in case its acquire is still on its way.
#include "contract/store_contract.h"

namespace lockkeeper::support {
namespace {

using core::AcquireRequest;
using core::WithdrawResult;
using testing::Optional;

class WithdrawContract : public StoreContract {
 protected:
  AcquireRequest Attempt(int32_t attempt, uint64_t call) {
    AcquireRequest request = AcquireOf("a", Id(1));
    request.attempt = attempt;
    request.keeper = KeeperOf(call);
    return request;
  }

  using StoreContract::ReleaseKept;
  WithdrawResult ReleaseKept(const AcquireRequest& of) { return ReleaseKept(of, of.keeper); }

  void Adopt(const AcquireRequest& of, const core::Keeper& adopter) {
    core::ExtendRequest request = ExtendOf(of.name, of.lease_id);
    request.keeper = adopter;
    ASSERT_TRUE(Ask(request).ok());
  }

  const core::Keeper adopter_ = core::Keeper::OfHolder(7);

  bool IsHeldBy(const LeaseId& id) { return Ask(ExtendOf("a", id)).ok(); }
};

TEST_P(WithdrawContract, GrantOfItsKeeperIsTakenBack) {
  Grant(Attempt(1, 1));

  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kWithdrawn);
  EXPECT_FALSE(IsHeldBy(Id(1)));
  Grant("a", Id(2));
}

TEST_P(WithdrawContract, RepeatFindsNothingLeft) {
  Grant(Attempt(1, 1));
  Withdraw(Attempt(1, 1));

  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kNotGranted);
  Grant("a", Id(2));
  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kNotGranted);
  EXPECT_TRUE(IsHeldBy(Id(2)));
}

TEST_P(WithdrawContract, GrantOfAnotherKeeperStays) {
  Grant(Attempt(1, 1));

  EXPECT_EQ(Withdraw(Attempt(1, 2)), WithdrawResult::kKept);
  EXPECT_TRUE(IsHeldBy(Id(1)));
}

TEST_P(WithdrawContract, LeaseOutOfScopeStays) {
  Grant(Attempt(1, 1));
  core::WithdrawRequest decline = WithdrawOf(Attempt(1, 1));
  decline.scope = core::WithdrawScope::kUnclaimedOnly;

  EXPECT_EQ(*Ask(decline), WithdrawResult::kKept);
  EXPECT_TRUE(IsHeldBy(Id(1)));
}

TEST_P(WithdrawContract, LaterAttemptTakesTheGrantOver) {
  Grant(Attempt(1, 1));
  Grant(Attempt(2, 2));

  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kKept);
  EXPECT_TRUE(IsHeldBy(Id(1)));
  EXPECT_EQ(Withdraw(Attempt(2, 2)), WithdrawResult::kWithdrawn);
  EXPECT_FALSE(IsHeldBy(Id(1)));
}

// Two sends that cannot be told apart: one of them may have reached the client, so nobody cleans
// up, and the ttl decides.
TEST_P(WithdrawContract, SameAttemptFromAnotherCallLeavesTheGrantToItsTtl) {
  for (const int32_t attempt : {0, 1}) {
    world_->ForgetEverything();
    Grant(Attempt(attempt, 1));
    Grant(Attempt(attempt, 2));

    EXPECT_EQ(Withdraw(Attempt(attempt, 1)), WithdrawResult::kKept);
    EXPECT_EQ(Withdraw(Attempt(attempt, 2)), WithdrawResult::kKept);
    EXPECT_TRUE(IsHeldBy(Id(1)));
  }
}

TEST_P(WithdrawContract, NobodyIsNoKeeper) {
  AcquireRequest request = Attempt(1, 1);
  Grant(request);
  Grant(Attempt(1, 2));
  request.keeper = core::Keeper();

  EXPECT_EQ(Withdraw(request), WithdrawResult::kKept);
}

TEST_P(WithdrawContract, SameCallThatSendsTwiceKeepsTheGrant) {
  Grant(Attempt(1, 1));
  Grant(Attempt(1, 1));

  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kWithdrawn);
}

TEST_P(WithdrawContract, LaterAttemptTakesOverWhatNobodyKept) {
  Grant(Attempt(1, 1));
  Grant(Attempt(1, 2));
  Grant(Attempt(2, 3));

  EXPECT_EQ(Withdraw(Attempt(2, 3)), WithdrawResult::kWithdrawn);
}

TEST_P(WithdrawContract, EarlierAttemptThatComesLateChangesNothing) {
  Grant(Attempt(2, 2));
  const std::string record = RecordOf("a");
  const core::Lease late = Grant(Attempt(1, 1));

  EXPECT_EQ(RecordOf("a"), record);
  EXPECT_EQ(late.token, Extend(ExtendOf("a", Id(1))).token);
  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kKept);
  EXPECT_EQ(Withdraw(Attempt(2, 2)), WithdrawResult::kWithdrawn);
}

// The acquire is still in a socket when its call is given up.
TEST_P(WithdrawContract, WithdrawnAttemptThatArrivesLaterIsNotGranted) {
  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kNotGranted);

  EXPECT_THAT(ReasonOf(Ask(Attempt(1, 1))), Optional(ErrorReason::kLeaseEnded));
  EXPECT_THAT(ReasonOf(Ask(Attempt(0, 1))), Optional(ErrorReason::kLeaseEnded));
}

TEST_P(WithdrawContract, AttemptAfterAWithdrawnOneMayBeGranted) {
  Withdraw(Attempt(1, 1));

  Grant(Attempt(2, 2));
  EXPECT_TRUE(IsHeldBy(Id(1)));
  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kKept);
}

TEST_P(WithdrawContract, AttemptAfterAWithdrawnGrantMayBeGrantedWithANewToken) {
  const core::Lease first = Grant(Attempt(1, 1));
  Withdraw(Attempt(1, 1));
  EXPECT_THAT(ReasonOf(Ask(Attempt(1, 1))), Optional(ErrorReason::kLeaseEnded));

  const core::Lease second = Grant(Attempt(2, 2));

  EXPECT_GT(second.token, first.token);
  EXPECT_TRUE(IsHeldBy(Id(1)));
}

TEST_P(WithdrawContract, WithdrawalOfALaterAttemptVoidsThoseBefore) {
  Grant(Attempt(1, 1));
  Withdraw(Attempt(1, 1));
  Withdraw(Attempt(3, 3));

  EXPECT_THAT(ReasonOf(Ask(Attempt(2, 2))), Optional(ErrorReason::kLeaseEnded));
  EXPECT_THAT(ReasonOf(Ask(Attempt(3, 3))), Optional(ErrorReason::kLeaseEnded));
  Grant(Attempt(4, 4));
}

TEST_P(WithdrawContract, WithdrawalOfAnEarlierAttemptTakesNothingBackFromTheList) {
  Withdraw(Attempt(3, 3));
  Withdraw(Attempt(1, 1));

  EXPECT_THAT(ReasonOf(Ask(Attempt(2, 2))), Optional(ErrorReason::kLeaseEnded));
  EXPECT_THAT(ReasonOf(Ask(Attempt(3, 3))), Optional(ErrorReason::kLeaseEnded));
  Grant(Attempt(4, 4));
}

TEST_P(WithdrawContract, VoidAttemptIsRememberedWhileOthersHoldTheLock) {
  Withdraw(Attempt(1, 1));
  Grant("a", Id(2));
  EXPECT_THAT(ReasonOf(Ask(Attempt(1, 1))), Optional(ErrorReason::kLeaseEnded));
  Release("a", Id(2));
  Grant("a", Id(3));
  Release("a", Id(3));

  EXPECT_THAT(ReasonOf(Ask(Attempt(1, 1))), Optional(ErrorReason::kLeaseEnded));
  Grant(Attempt(2, 2));
}

// The store is slow, so that the client has given up several attempts before the first of them is
// carried out: each of the late ones finds its own withdrawal done.
TEST_P(WithdrawContract, AttemptThatIsWithdrawnWhileAnEarlierOneHasTheLockGrantsNothingLater) {
  Grant(Attempt(1, 1));
  EXPECT_EQ(Withdraw(Attempt(3, 3)), WithdrawResult::kKept);
  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kWithdrawn);

  EXPECT_THAT(ReasonOf(Ask(Attempt(3, 3))), Optional(ErrorReason::kLeaseEnded));
  EXPECT_THAT(ReasonOf(Ask(Attempt(2, 2))), Optional(ErrorReason::kLeaseEnded));
  Grant("a", Id(2));
  EXPECT_THAT(ReasonOf(Ask(Attempt(3, 3))), Optional(ErrorReason::kLeaseEnded));
  Release("a", Id(2));
  EXPECT_THAT(ReasonOf(Ask(Attempt(3, 3))), Optional(ErrorReason::kLeaseEnded));
  Grant(Attempt(4, 4));
}

TEST_P(WithdrawContract, AttemptThatIsWithdrawnAfterAnEarlierOnesLeaseGrantsNothingLater) {
  Grant(Attempt(1, 1));
  StepBy(kTtl);
  EXPECT_EQ(Withdraw(Attempt(3, 3)), WithdrawResult::kKept);
  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kWithdrawn);

  EXPECT_THAT(ReasonOf(Ask(Attempt(3, 3))), Optional(ErrorReason::kLeaseEnded));
  EXPECT_FALSE(Grant(Attempt(4, 4)).previous_lease_expired);
}

TEST_P(WithdrawContract, WithdrawnAttemptTakesNothingOverFromTheOneThatHasTheLock) {
  Grant(Attempt(1, 1));
  EXPECT_EQ(Withdraw(Attempt(3, 3)), WithdrawResult::kKept);

  EXPECT_THAT(ReasonOf(Ask(Attempt(3, 3))), Optional(ErrorReason::kLeaseEnded));
  EXPECT_TRUE(IsHeldBy(Id(1)));
  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kWithdrawn);
}

TEST_P(WithdrawContract, AttemptAfterAKeptOneIsAnsweredWithTheFirstGrant) {
  const core::Lease lease = Grant(Attempt(1, 1));
  EXPECT_EQ(Withdraw(Attempt(3, 3)), WithdrawResult::kKept);

  EXPECT_EQ(Grant(Attempt(4, 4)).token, lease.token);
  EXPECT_EQ(Withdraw(Attempt(4, 4)), WithdrawResult::kWithdrawn);
}

TEST_P(WithdrawContract, KeptWithdrawalOfTheSameAttemptLeavesItsRepeatsTheirAnswer) {
  for (const int32_t attempt : {0, 1}) {
    world_->ForgetEverything();
    const core::Lease lease = Grant(Attempt(attempt, 1));
    EXPECT_EQ(Withdraw(Attempt(attempt, 2)), WithdrawResult::kKept);

    EXPECT_EQ(Grant(Attempt(attempt, 3)).token, lease.token) << attempt;
  }
}

TEST_P(WithdrawContract, OthersLeaseIsNotTouched) {
  const core::Lease lease = Grant("a", Id(2));

  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kNotGranted);
  EXPECT_EQ(Grant("a", Id(2)).token, lease.token);
  Release("a", Id(2));
  EXPECT_THAT(ReasonOf(Ask(Attempt(1, 1))), Optional(ErrorReason::kLeaseEnded));
}

// --- the end of a session

TEST_P(WithdrawContract, LeaseOfASessionThatEndsIsReleased) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  StepBy(Millis(1'000));

  const WithdrawResult released = ReleaseKept(request);

  EXPECT_EQ(released, WithdrawResult::kWithdrawn);
  EXPECT_GE(released.held, Millis(1'000));
  EXPECT_LT(released.held, kTtl);
  EXPECT_EQ(Get("a").last_end, core::LeaseEnd::kReleased);
  EXPECT_EQ(ReasonOf(Ask(AcquireOf("a", Id(1)))), ErrorReason::kLeaseEnded);
  EXPECT_FALSE(Grant("a", Id(2)).previous_lease_expired);
}

// Another session had adopted it, and lost it with the end of the first one.
TEST_P(WithdrawContract, LeaseThatWasAdoptedSinceIsNotReleasedByTheEndOfASession) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  Adopt(request, adopter_);

  EXPECT_EQ(ReleaseKept(request), WithdrawResult::kKept);
  EXPECT_TRUE(IsHeldBy(Id(1)));

  EXPECT_EQ(ReleaseKept(request, adopter_), WithdrawResult::kWithdrawn);
  EXPECT_FALSE(IsHeldBy(Id(1)));
}

TEST_P(WithdrawContract, LeaseThatWasAcquiredAgainSinceIsNotReleasedByTheEndOfASession) {
  AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  AcquireRequest again = request;
  again.attempt = 2;
  again.keeper = KeeperOf(2);
  Grant(again);

  EXPECT_EQ(ReleaseKept(request), WithdrawResult::kKept);
  EXPECT_EQ(ReleaseKept(again), WithdrawResult::kWithdrawn);
}

// An extend is not an adoption: whoever knows the lease id may send it.
TEST_P(WithdrawContract, LeaseThatWasExtendedElsewhereIsReleasedByTheEndOfASession) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  ASSERT_TRUE(IsHeldBy(Id(1)));

  EXPECT_EQ(ReleaseKept(request), WithdrawResult::kWithdrawn);
}

TEST_P(WithdrawContract, NoCallTakesAnAdoptedLeaseOver) {
  AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  Adopt(request, adopter_);
  EXPECT_EQ(Withdraw(request), WithdrawResult::kKept) << "its own call";

  for (const int32_t attempt : {1, 2}) {
    AcquireRequest copy = request;
    copy.attempt = attempt;
    copy.keeper = KeeperOf(2);
    Grant(copy);
    EXPECT_EQ(Withdraw(copy), WithdrawResult::kKept) << "attempt " << attempt;
  }

  EXPECT_EQ(ReleaseKept(request, adopter_), WithdrawResult::kWithdrawn);
}

TEST_P(WithdrawContract, EndOfASessionHidesNoExpiredLease) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  StepBy(kTtl);

  EXPECT_EQ(ReleaseKept(request), WithdrawResult::kKept);

  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
  EXPECT_EQ(ReleaseKept(request), WithdrawResult::kKept) << "somebody else's lease";
}

TEST_P(WithdrawContract, WithdrawnGrantHidesNoExpiredLease) {
  Grant("a", Id(2));
  StepBy(kTtl);
  EXPECT_TRUE(Grant(Attempt(1, 1)).previous_lease_expired);
  Withdraw(Attempt(1, 1));

  EXPECT_TRUE(Grant(Attempt(2, 2)).previous_lease_expired);
  Withdraw(Attempt(2, 2));
  EXPECT_TRUE(Grant("a", Id(3)).previous_lease_expired);
}

TEST_P(WithdrawContract, WithdrawnGrantIsNoExpiredLease) {
  Grant(Attempt(1, 1));
  Withdraw(Attempt(1, 1));

  EXPECT_FALSE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(WithdrawContract, WithdrawnGrantLeavesNoLockDelay) {
  AcquireRequest request = Attempt(1, 1);
  request.lock_delay = Millis(5'000);
  Grant(request);
  Withdraw(request);

  Grant("a", Id(2));
}

TEST_P(WithdrawContract, ReleasedLeaseIsNotWithdrawn) {
  Grant(Attempt(1, 1));
  Release("a", Id(1));

  EXPECT_EQ(Withdraw(Attempt(1, 1)), WithdrawResult::kNotGranted);
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNone);
}

LOCKKEEPER_CONTRACT_SUITE(WithdrawContract);

}  // namespace
}  // namespace lockkeeper::support
