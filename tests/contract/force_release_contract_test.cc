// SPDX-License-Identifier: Apache-2.0
//
// Forced release: ends a lease without its holder and says for how long the lock stays closed.
#include "contract/store_contract.h"

namespace lockkeeper::support {
namespace {

using core::ForceReleaseAnswer;
using core::ReleaseDelay;
using testing::Optional;

class ForceReleaseContract : public StoreContract {};

TEST_P(ForceReleaseContract, LockStaysClosedForTheHoldersRemainingTtl) {
  const core::Lease lease = Grant("a", Id(1));
  StepBy(Millis(10'000));

  const ForceReleaseAnswer answer = ForceRelease("a");

  EXPECT_TRUE(answer.released);
  EXPECT_GT(answer.token, lease.token);
  EXPECT_EQ(answer.closed_for, kTtl - Millis(10'000));
  EXPECT_EQ(answer.holder_owner, AcquireOf("a", Id(1)).owner);
  EXPECT_FALSE(answer.opened);
  const core::Contention closed = Contend("a", Id(2));
  EXPECT_EQ(closed.reason, core::ContentionReason::kClosed);
  EXPECT_EQ(closed.remaining_ttl, answer.closed_for);
  EXPECT_EQ(closed.holder_owner, "");

  StepBy(answer.closed_for - Micros(1));
  Contend("a", Id(2));
  StepBy(Micros(1));
  const core::Lease next = Grant("a", Id(2));
  EXPECT_TRUE(next.previous_lease_expired);
  EXPECT_GT(next.token, answer.token);
}

TEST_P(ForceReleaseContract, LockIsFreeAtOnceIfTheAdministratorSaysSo) {
  Grant("a", Id(1));

  const ForceReleaseAnswer answer = ForceRelease("a", ReleaseDelay::kNone);

  EXPECT_TRUE(answer.released);
  EXPECT_EQ(answer.closed_for, Micros(0));
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(ForceReleaseContract, HoldersLeaseIsOverAtOnceInBothCases) {
  for (const ReleaseDelay delay : {ReleaseDelay::kHoldersRemainingTtl, ReleaseDelay::kNone}) {
    world_->ForgetEverything();
    Grant("a", Id(1));
    ForceRelease("a", delay);

    EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
    EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(1)))), Optional(ErrorReason::kLeaseEnded));
  }
}

TEST_P(ForceReleaseContract, ClosedLockCanBeOpened) {
  Grant("a", Id(1));
  const ForceReleaseAnswer first = ForceRelease("a");

  const ForceReleaseAnswer second = ForceRelease("a", ReleaseDelay::kNone);

  EXPECT_TRUE(second.released);
  EXPECT_TRUE(second.opened);
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(second.holder_owner, "");
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(ForceReleaseContract, ClosedLockIsNotClosedAgain) {
  Grant("a", Id(1));
  const ForceReleaseAnswer first = ForceRelease("a");
  StepBy(Millis(1'000));

  const ForceReleaseAnswer second = ForceRelease("a");

  EXPECT_FALSE(second.released);
  EXPECT_FALSE(second.opened);
  EXPECT_EQ(second.token, first.token);
  EXPECT_EQ(second.closed_for, first.closed_for - Millis(1'000));
}

TEST_P(ForceReleaseContract, LockDelayOfAnExpiredLeaseCanBeOpened) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(5'000);
  Grant(request);
  StepBy(kTtl);
  EXPECT_FALSE(ForceRelease("a").released);
  EXPECT_EQ(ForceRelease("a").closed_for, Millis(5'000));

  EXPECT_TRUE(ForceRelease("a", ReleaseDelay::kNone).released);
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(ForceReleaseContract, LockThatNobodyHoldsIsLeftAlone) {
  EXPECT_FALSE(ForceRelease("a").released);
  EXPECT_FALSE(ForceRelease("a", ReleaseDelay::kNone).released);
  EXPECT_FALSE(world_->IsKept("a"));

  const core::Lease lease = Grant("a", Id(1));
  Release("a", Id(1));
  const ForceReleaseAnswer answer = ForceRelease("a", ReleaseDelay::kNone);
  EXPECT_FALSE(answer.released);
  EXPECT_EQ(answer.token, lease.token);
  EXPECT_FALSE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(ForceReleaseContract, ExpiredLeaseIsLeftAlone) {
  Grant("a", Id(1));
  StepBy(kTtl);

  EXPECT_FALSE(ForceRelease("a", ReleaseDelay::kNone).released);
  EXPECT_EQ(Get("a").last_end, core::LeaseEnd::kExpired);
}

TEST_P(ForceReleaseContract, ForcedEndIsVisible) {
  Grant("a", Id(1));
  ForceRelease("a");

  const core::LockInfo info = Get("a");
  EXPECT_EQ(info.state, core::LockState::kEnded);
  EXPECT_EQ(info.last_end, core::LeaseEnd::kForced);
  EXPECT_EQ(info.closed_for, kTtl);
}

LOCKKEEPER_CONTRACT_SUITE(ForceReleaseContract);

}  // namespace
}  // namespace lockkeeper::support
