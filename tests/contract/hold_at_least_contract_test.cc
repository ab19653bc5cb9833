// SPDX-License-Identifier: Apache-2.0
//
// hold_at_least: the lock stays closed for so long after the grant, however its lease ends; unless
// an administrator opens it, or nobody ever heard of the grant.
#include "contract/store_contract.h"
#include "core/limits.h"

namespace lockkeeper::support {
namespace {

using core::ContentionReason;
using core::NotReleasedReason;
using core::ReleaseDelay;
using testing::Optional;

constexpr Millis kHold{60'000};  // Longer than the lease.

class HoldAtLeastContract : public StoreContract {
 protected:
  core::AcquireRequest HoldOf(const LeaseId& id, Millis hold = kHold) {
    core::AcquireRequest request = AcquireOf("a", id);
    request.hold_at_least = hold;
    return request;
  }

  // The lock is closed for `left`, and then open.
  void ExpectClosedFor(Micros left) {
    const core::Contention closed = Contend("a", Id(100));
    EXPECT_EQ(closed.reason, ContentionReason::kClosed);
    EXPECT_EQ(closed.remaining_ttl, left);
    EXPECT_EQ(closed.holder_owner, "");
    StepBy(left - Micros(1));
    Contend("a", Id(101));
    StepBy(Micros(1));
    Grant("a", Id(102));
  }
};

TEST_P(HoldAtLeastContract, ReleasedLockStaysClosed) {
  const core::Lease lease = Grant(HoldOf(Id(1)));
  EXPECT_EQ(lease.remaining_ttl, kTtl);
  StepBy(Millis(200));
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNone);

  ExpectClosedFor(kHold - Millis(200));
}

TEST_P(HoldAtLeastContract, NextLeaseIsNotToldThatTheReleasedOneExpired) {
  Grant(HoldOf(Id(1)));
  Release("a", Id(1));
  StepBy(kHold);

  EXPECT_FALSE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(HoldAtLeastContract, LongestIsADay) {
  Grant(HoldOf(Id(1), core::limits::kHoldAtLeastMax));
  Release("a", Id(1));

  EXPECT_EQ(Contend("a", Id(2)).remaining_ttl, core::limits::kHoldAtLeastMax);
  StepBy(core::limits::kHoldAtLeastMax - Micros(1));
  Contend("a", Id(3));
  StepBy(Micros(1));
  Grant("a", Id(4));
}

TEST_P(HoldAtLeastContract, ReleasedLeaseIsOverForItsHolder) {
  const core::AcquireRequest request = HoldOf(Id(1));
  const core::Lease lease = Grant(request);
  Release("a", Id(1));

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNone) << "a repeat";
  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
  core::AcquireRequest repeat = request;
  repeat.attempt = 2;
  EXPECT_THAT(ReasonOf(Ask(repeat)), Optional(ErrorReason::kLeaseEnded));
  EXPECT_EQ(Withdraw(request), core::WithdrawResult::kNotGranted);
  EXPECT_EQ(Fence(FenceOf("a", lease.token)).verdict, core::Verdict::kAdmitted)
      << "as after any release";
  EXPECT_EQ(Fence(FenceOf("a", lease.token, core::LeaseLiveness::kRequired)).verdict,
            core::Verdict::kExpired);
  ExpectClosedFor(kHold);
}

TEST_P(HoldAtLeastContract, ExpiredLockStaysClosed) {
  Grant(HoldOf(Id(1)));
  EXPECT_EQ(Contend("a", Id(2)).reason, ContentionReason::kHeld);
  StepBy(kTtl);
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kExpired);

  ExpectClosedFor(kHold - kTtl);
}

TEST_P(HoldAtLeastContract, LongerLockDelayCounts) {
  core::AcquireRequest request = HoldOf(Id(1), kTtl + Millis(1'000));
  request.lock_delay = Millis(5'000);
  Grant(request);
  StepBy(kTtl);

  ExpectClosedFor(Millis(5'000));
}

TEST_P(HoldAtLeastContract, ShorterThanTheLeaseIsOverByThen) {
  Grant(HoldOf(Id(1), Millis(1'000)));
  EXPECT_EQ(Contend("a", Id(2)).remaining_ttl, kTtl);
  StepBy(Millis(1'000));
  Release("a", Id(1));

  Grant("a", Id(3));
}

TEST_P(HoldAtLeastContract, ExtendNeitherMovesNorForgetsIt) {
  Grant(HoldOf(Id(1)));
  StepBy(Millis(20'000));
  EXPECT_EQ(Extend(ExtendOf("a", Id(1), Millis(1'000))).remaining_ttl, Millis(10'000));
  EXPECT_EQ(Extend(ExtendOf("a", Id(1))).remaining_ttl, kTtl);
  Release("a", Id(1));

  ExpectClosedFor(kHold - Millis(20'000));
}

TEST_P(HoldAtLeastContract, ExtendedLeaseThatExpiresLeavesTheLockClosed) {
  Grant(HoldOf(Id(1)));
  StepBy(Millis(20'000));
  Extend(ExtendOf("a", Id(1)));
  StepBy(kTtl);

  ExpectClosedFor(kHold - Millis(20'000) - kTtl);
}

TEST_P(HoldAtLeastContract, ExtendedLeaseKeepsTheLockAfterIt) {
  Grant(HoldOf(Id(1), Millis(10'000)));
  StepBy(Millis(20'000));
  Extend(ExtendOf("a", Id(1)));
  StepBy(kTtl);

  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(HoldAtLeastContract, RepeatOfTheAcquireReturnsTheFirstGrant) {
  core::AcquireRequest repeat = HoldOf(Id(1));
  const core::Lease lease = Grant(repeat);
  repeat.attempt = 2;
  repeat.hold_at_least = Millis(0);
  EXPECT_EQ(Grant(repeat).token, lease.token);
  Release("a", Id(1));

  ExpectClosedFor(kHold);
}

TEST_P(HoldAtLeastContract, EndOfASessionLeavesTheLockClosed) {
  core::AcquireRequest request = HoldOf(Id(1));
  request.keeper = KeeperOf(7);
  Grant(request);
  StepBy(Millis(1'000));
  EXPECT_EQ(ReleaseKept(request, KeeperOf(7)), core::WithdrawResult::kWithdrawn);

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNone);
  ExpectClosedFor(kHold - Millis(1'000));
}

TEST_P(HoldAtLeastContract, WithdrawnGrantOpensTheLock) {
  core::AcquireRequest request = HoldOf(Id(1));
  request.keeper = KeeperOf(7);
  Grant(request);
  EXPECT_EQ(Withdraw(request), core::WithdrawResult::kWithdrawn);

  EXPECT_FALSE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(HoldAtLeastContract, ForcedReleaseLeavesTheLockClosed) {
  const core::Lease lease = Grant(HoldOf(Id(1)));
  const core::ForceReleaseAnswer answer = ForceRelease("a");
  EXPECT_TRUE(answer.released);
  EXPECT_GT(answer.token, lease.token);
  EXPECT_EQ(answer.closed_for, kHold);

  ExpectClosedFor(kHold);
}

TEST_P(HoldAtLeastContract, AdministratorOpensAHeldLockAtOnce) {
  Grant(HoldOf(Id(1)));
  EXPECT_EQ(ForceRelease("a", ReleaseDelay::kNone).closed_for, Micros(0));

  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(HoldAtLeastContract, AdministratorOpensAReleasedLockOnlyIfAskedTo) {
  const core::Lease lease = Grant(HoldOf(Id(1)));
  Release("a", Id(1));
  const core::ForceReleaseAnswer closed = ForceRelease("a");
  EXPECT_FALSE(closed.released);
  EXPECT_EQ(closed.closed_for, kHold);
  EXPECT_EQ(closed.token, lease.token);

  const core::ForceReleaseAnswer opened = ForceRelease("a", ReleaseDelay::kNone);
  EXPECT_TRUE(opened.released);
  EXPECT_TRUE(opened.opened);
  EXPECT_EQ(opened.holder_owner, "");
  EXPECT_GT(opened.token, lease.token);
  EXPECT_EQ(Fence(FenceOf("a", lease.token)).verdict, core::Verdict::kStale);
  EXPECT_EQ(Fence(FenceOf("a", opened.token)).verdict, core::Verdict::kUnknownToken);
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNone) << "a repeat";
  const core::Lease next = Grant("a", Id(2));
  EXPECT_FALSE(next.previous_lease_expired) << "it was released";
  EXPECT_GT(next.token, opened.token);
}

TEST_P(HoldAtLeastContract, ClosedLockIsShown) {
  Grant(HoldOf(Id(1)));
  EXPECT_EQ(Get("a").hold_at_least, kHold);
  EXPECT_EQ(Get("a").closed_for, kHold);
  StepBy(Millis(1'000));
  Release("a", Id(1));

  const core::LockInfo info = Get("a");
  EXPECT_EQ(info.state, core::LockState::kEnded);
  EXPECT_EQ(info.last_end, core::LeaseEnd::kReleased);
  EXPECT_EQ(info.closed_for, kHold - Millis(1'000));
  EXPECT_EQ(info.remaining_ttl, Micros(0));
  EXPECT_EQ(info.hold_at_least, kHold);
  EXPECT_EQ(info.owner, HoldOf(Id(1)).owner);
}

LOCKKEEPER_CONTRACT_SUITE(HoldAtLeastContract);

}  // namespace
}  // namespace lockkeeper::support
