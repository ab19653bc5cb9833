// SPDX-License-Identifier: Apache-2.0
//
// Leases that had ended before the store was doubted stay ended.
#include "contract/redis/guarded_contract.h"

namespace lockkeeper::support {
namespace {

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

LOCKKEEPER_GUARDED_SUITE(EndedLeaseContract);

}  // namespace
}  // namespace lockkeeper::support
