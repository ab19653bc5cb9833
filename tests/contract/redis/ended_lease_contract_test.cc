// SPDX-License-Identifier: Apache-2.0
//
// Leases that had ended before the store was doubted stay ended.
#include "contract/redis/guarded_contract.h"

namespace lockkeeper::support {
namespace {

using testing::ElementsAre;
using testing::Optional;

using EndedLeaseContract = GuardedContract;

TEST_P(EndedLeaseContract, LeaseThatWasReleasedAfterItsEndIsNotTakenBack) {
  const core::AcquireRequest request = AcquireOf("a", Id(1));
  const core::ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  Pass(kTtl);
  EXPECT_TRUE(Ask(ReleaseOf("a", Id(1))).ok());
  SetTheClock();

  EXPECT_THAT(ReasonOf(Ask(Now(extend))), Optional(ErrorReason::kLeaseLost));
}

// A step that is smaller than a call lives is noticed by the reply only. By then the release has
// ended a lease that its proof says is running, and only the record can tell other daemons.
TEST_P(EndedLeaseContract, LeaseWhoseReleaseMetASmallStepIsNotTakenBackByAnotherDaemon) {
  const core::AcquireRequest request = AcquireOf("a", Id(1));
  const core::ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  Meet(1);
  Pass(kTtl - Millis(200));
  StepBy(Millis(500));

  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);

  Daemon& other = world_->daemon(1);
  const auto ask = [&] {
    return AskOnLoop<core::Lease>(
        [&](core::Done<core::Lease> done) { other.locks.Extend(Now(extend), std::move(done)); });
  };
  auto extended = ask();
  // If it notices the step itself.
  if (ReasonOf(extended) == ErrorReason::kOutcomeUnknown) extended = ask();
  EXPECT_THAT(ReasonOf(extended), Optional(ErrorReason::kLeaseLost));
  EXPECT_THAT(Noticed(), ElementsAre(redis::LossKind::kClockStep));
}

// Nobody knows any more whether the first release was in time.
TEST_P(EndedLeaseContract, RepeatedReleaseDoesNotSayExpiredByAClockThatHadBeenSet) {
  Grant("a", Id(1));
  Pass(kTtl - Millis(200));
  StepBy(Millis(500));
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);
  EXPECT_FALSE(Ask(AcquireOf("b", Id(2))).ok()) << "the step is noticed";
  EXPECT_THAT(Noticed(), ElementsAre(redis::LossKind::kClockStep));
  Pass(kQuarantine);
  Grant("a", Id(3));

  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);
}

LOCKKEEPER_GUARDED_SUITE(EndedLeaseContract);

}  // namespace
}  // namespace lockkeeper::support
