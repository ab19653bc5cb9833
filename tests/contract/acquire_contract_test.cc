// SPDX-License-Identifier: Apache-2.0
//
// Acquire: grants, repeats of grants, contention, and what a grant tells of the lease before it.
#include "contract/store_contract.h"
#include "core/limits.h"

namespace lockkeeper::support {
namespace {

using core::Contention;
using core::ContentionReason;
using core::Lease;
using core::NotReleasedReason;
using testing::Eq;
using testing::Optional;

class AcquireContract : public StoreContract {};

TEST_P(AcquireContract, FreeLockIsGranted) {
  core::AcquireRequest request = AcquireOf("orders/42", Id(1));
  request.ttl = Millis(12'345);

  const Lease lease = Grant(request);

  EXPECT_EQ(lease.name, "orders/42");
  EXPECT_EQ(lease.lease_id, Id(1));
  EXPECT_EQ(lease.token.value, NodeNow().micros);
  EXPECT_EQ(lease.ttl, Millis(12'345));
  EXPECT_EQ(lease.remaining_ttl, Millis(12'345));
  EXPECT_EQ(lease.lease_end.micros, NodeNow().micros + 12'345'000);
  EXPECT_FALSE(lease.previous_lease_expired);
  EXPECT_FALSE(lease.offered);
}

TEST_P(AcquireContract, GrantSaysWhatTheStoreConfirms) {
  EXPECT_EQ(Grant("a", Id(1)).assurance, core::Assurance::kMemory);
}

TEST_P(AcquireContract, NothingIsGrantedWithLessAssuranceThanAsked) {
  Grant("met", Id(9));  // The daemon knows what the store confirms.
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.min_assurance = core::Assurance::kDisk;

  EXPECT_THAT(ReasonOf(Ask(request)), Optional(ErrorReason::kAssuranceNotReached));

  request.min_assurance = core::Assurance::kMemory;
  Grant(request);
}

TEST_P(AcquireContract, RepeatReturnsTheFirstGrantAndIgnoresOtherFields) {
  const Lease first = Grant("a", Id(1));
  StepBy(Millis(1'500));
  core::AcquireRequest repeat = AcquireOf("a", Id(1));
  repeat.ttl = Millis(5'000);
  repeat.owner = "somebody else";
  repeat.lock_delay = Millis(1'000);
  repeat.max_hold = Millis(1'000);
  repeat.labels = {{"other", "label"}};

  const Lease second = Grant(repeat);

  EXPECT_EQ(second.token, first.token);
  EXPECT_EQ(second.ttl, first.ttl);
  EXPECT_EQ(second.lease_end, first.lease_end);
  EXPECT_EQ(second.remaining_ttl, first.remaining_ttl - Millis(1'500));
  EXPECT_NE(Get("a").owner, "somebody else");
  EXPECT_TRUE(Get("a").labels.empty());
}

TEST_P(AcquireContract, RepeatOverAnotherDaemonReturnsTheFirstGrant) {
  const Lease first = Grant("a", Id(1));
  core::AcquireRequest repeat = AcquireOf("a", Id(1));
  repeat.attempt = 2;

  EXPECT_EQ(Grant(repeat, 1).token, first.token);
}

TEST_P(AcquireContract, RepeatAfterAnExtensionTellsTheExtendedEnd) {
  const Lease first = Grant("a", Id(1));
  StepBy(Millis(10'000));
  const Lease extended = Extend(ExtendOf("a", Id(1)));

  const Lease repeated = Grant("a", Id(1));

  EXPECT_EQ(repeated.token, first.token);
  EXPECT_EQ(repeated.lease_end, extended.lease_end);
}

TEST_P(AcquireContract, RepeatTellsAgainThatThePreviousLeaseExpired) {
  Grant("a", Id(1));
  StepBy(kTtl);
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);

  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(AcquireContract, HeldLockAnswersContentionWithItsHolder) {
  core::AcquireRequest held = AcquireOf("a", Id(1));
  held.owner = "ada@host:12";
  Grant(held);
  StepBy(Millis(1'000));

  const Contention contention = Contend("a", Id(2));

  EXPECT_EQ(contention.reason, ContentionReason::kHeld);
  EXPECT_EQ(contention.holder_owner, "ada@host:12");
  EXPECT_EQ(contention.remaining_ttl, kTtl - Millis(1'000));
  EXPECT_EQ(contention.waiters, 0);
}

TEST_P(AcquireContract, ContentionChangesNothing) {
  const Lease lease = Grant("a", Id(1));
  const std::string record = RecordOf("a");

  Contend("a", Id(2));

  EXPECT_EQ(RecordOf("a"), record);
  EXPECT_EQ(Extend(ExtendOf("a", Id(1))).token, lease.token);
}

TEST_P(AcquireContract, LeaseIdThatMetContentionMayBeGrantedLater) {
  Grant("a", Id(1));
  Contend("a", Id(2));
  Release("a", Id(1));

  Grant("a", Id(2));
}

TEST_P(AcquireContract, LeaseIdsOfDifferentLocksHaveNothingToDoWithEachOther) {
  const Lease a = Grant("a", Id(1));
  const Lease b = Grant("b", Id(1));
  Release("a", Id(1));

  EXPECT_EQ(Extend(ExtendOf("b", Id(1))).token, b.token);
  EXPECT_EQ(a.lease_id, b.lease_id);
}

TEST_P(AcquireContract, LeaseEndsAtItsEndAndNotBefore) {
  Grant("a", Id(1));

  StepBy(kTtl - Micros(1));
  Contend("a", Id(2));
  StepBy(Micros(1));
  const Lease next = Grant("a", Id(2));

  EXPECT_TRUE(next.previous_lease_expired);
}

TEST_P(AcquireContract, GrantAfterAReleaseSaysSo) {
  Grant("a", Id(1));
  Release("a", Id(1));

  EXPECT_FALSE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(AcquireContract, OnlyTheLeaseBeforeCounts) {
  Grant("a", Id(1));
  StepBy(kTtl);
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
  Release("a", Id(2));

  EXPECT_FALSE(Grant("a", Id(3)).previous_lease_expired);
}

TEST_P(AcquireContract, UsedUpLeaseIdIsNotGrantedAgain) {
  Grant("a", Id(1));
  StepBy(kTtl);
  core::AcquireRequest again = AcquireOf("a", Id(1));
  again.attempt = 2;

  EXPECT_THAT(ReasonOf(Ask(again)), Optional(ErrorReason::kLeaseEnded));
}

TEST_P(AcquireContract, UsedUpLeaseIdIsNotGrantedAfterItsSuccessorEither) {
  Grant("a", Id(1));
  StepBy(kTtl);
  Grant("a", Id(2));
  Release("a", Id(2));

  EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(1)))), Optional(ErrorReason::kLeaseEnded));
  EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(2)))), Optional(ErrorReason::kLeaseEnded));
  Grant("a", Id(3));
}

TEST_P(AcquireContract, ReleasedLeaseIdIsNotGrantedAgain) {
  Grant("a", Id(1));
  Release("a", Id(1));
  core::AcquireRequest again = AcquireOf("a", Id(1));
  again.attempt = core::limits::kAttemptMax;

  EXPECT_THAT(ReasonOf(Ask(again)), Optional(ErrorReason::kLeaseEnded));
}

TEST_P(AcquireContract, LeaseOfAnotherPrincipalIsNotRepeated) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.principal = "ada";
  Grant(request);

  for (const std::string principal : {"bob", "", "ada2", "ad"}) {
    request.principal = principal;
    EXPECT_THAT(ReasonOf(Ask(request)), Optional(ErrorReason::kLeaseEnded)) << principal;
  }
}

TEST_P(AcquireContract, LockDelayKeepsAnExpiredLockClosed) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(5'000);
  Grant(request);
  EXPECT_EQ(Contend("a", Id(2)).remaining_ttl, kTtl + Millis(5'000));

  StepBy(kTtl);
  const Contention closed = Contend("a", Id(2));
  EXPECT_EQ(closed.reason, ContentionReason::kClosed);
  EXPECT_EQ(closed.holder_owner, "");
  EXPECT_EQ(closed.remaining_ttl, Millis(5'000));
  StepBy(Millis(5'000) - Micros(1));
  Contend("a", Id(2));
  StepBy(Micros(1));
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(AcquireContract, LockDelayDoesNotFollowARelease) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(5'000);
  Grant(request);
  Release("a", Id(1));

  EXPECT_FALSE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(AcquireContract, MaxHoldBoundsTheFirstTtlToo) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.max_hold = Millis(10'000);

  const Lease lease = Grant(request);

  EXPECT_EQ(lease.remaining_ttl, Millis(10'000));
  EXPECT_EQ(lease.ttl, kTtl);
}

TEST_P(AcquireContract, LongestOfEverythingIsGranted) {
  core::AcquireRequest request = AcquireOf(std::string(core::limits::kNameBytesMax, 'n'), Id(1));
  request.attempt = core::limits::kAttemptMax;
  request.ttl = core::limits::kTtlCeiling;
  request.lock_delay = core::limits::kLockDelayMax;
  request.max_hold = core::limits::kMaxHoldMax;
  request.owner = std::string(core::limits::kOwnerBytesMax, 'o');
  for (size_t i = 0; i < core::limits::kLabelsMax; ++i) {
    request.labels.emplace_back(
        std::string(core::limits::kLabelKeyBytesMax, static_cast<char>('a' + i)),
        std::string(core::limits::kLabelValueBytesMax, 'v'));
  }

  EXPECT_EQ(Grant(request).remaining_ttl, core::limits::kTtlCeiling);
  EXPECT_EQ(Get(request.name).labels, request.labels);
  EXPECT_EQ(Release(request.name, Id(1)), NotReleasedReason::kNone);
}

LOCKKEEPER_CONTRACT_SUITE(AcquireContract);

}  // namespace
}  // namespace lockkeeper::support
