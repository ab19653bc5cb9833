// SPDX-License-Identifier: Apache-2.0
#include "simulation/memory_link.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "simulation/daemon.h"
#include "simulation/judge.h"
#include "simulation/memory_watch.h"
#include "simulation/process.h"
#include "simulation/schedule.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {
namespace {

constexpr uint64_t kAcquires = 20;

class MemoryLinkTest : public testing::Test {
 protected:
  // Each on a lock of its own.
  void SendAcquires() {
    for (uint64_t i = 1; i <= kAcquires; ++i) {
      core::AcquireRequest request;
      request.name = std::to_string(i);
      request.lease_id = core::LeaseId::FromBits(i, i);
      request.attempt = 1;
      request.ttl = core::Millis(60'000);
      request.keeper = core::Keeper(1, i);
      request.deadline = clock_.Now() + kCallLifetime;
      link_.Acquire(request, [](auto) {});
    }
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  Judge judge_{kRecordRetention};
  MemoryWatch store_{clock_, judge_, kRecordRetention};
  Process process_{executor_};
  MemoryLink link_{store_,    core::Hex16(1), kCallLifetime,     clock_,
                   executor_, process_,       support::Random(1)};
};

TEST_F(MemoryLinkTest, CallsAreExecuted) {
  SendAcquires();
  executor_.AdvanceBy(kCallLifetime);

  EXPECT_EQ(store_.executed(), kAcquires);
}

// The domain relies on that when it withdraws what nobody answered (core/withdrawals.h).
TEST_F(MemoryLinkTest, CallsThatTakeLongerThanTheirLifetimeAreNotExecuted) {
  constexpr core::Micros kSlow{60'000'000};
  link_.Strike({.kind = FaultKind::kStoreSlow, .duration = kSlow});
  SendAcquires();
  executor_.AdvanceBy(kCallLifetime);
  const uint64_t in_time = store_.executed();
  ASSERT_LT(in_time, kAcquires);
  executor_.AdvanceBy(kSlow);

  EXPECT_EQ(store_.executed(), in_time);
}

}  // namespace
}  // namespace lockkeeper::simulation
