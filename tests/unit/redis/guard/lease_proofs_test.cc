// SPDX-License-Identifier: Apache-2.0
#include "redis/lease_proofs.h"

#include <chrono>

#include "core/limits.h"
#include "gtest/gtest.h"
#include "unit/redis/guard/node_guard_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;

constexpr core::Millis kTtl = 10s;

class LeaseProofsTest : public NodeGuardTest {
 protected:
  LeaseProofsTest() { EXPECT_TRUE(PermitsSoon(daemon_, kTtl)); }

  static core::LeaseId Id(uint64_t number) { return core::LeaseId::FromBits(number + 1, ~number); }

  // What the holder of a lease of kTtl that was granted now shows.
  core::ExtendRequest Grant(uint64_t number, core::NodeTime max_hold_end = {},
                            core::NodeTime hold_end = {}) {
    core::Lease lease{.name = "a", .lease_id = Id(number), .token = {7}, .ttl = kTtl};
    lease.lease_end = {server_.clock().Now().micros + core::Micros(kTtl).count()};
    const ProvedTerms terms = proofs_.TermsOf({}, lease, {kTtl, 500ms, max_hold_end, hold_end});
    return {.name = "a",
            .lease_id = Id(number),
            .token = {7},
            .reassertion = proofs_.Make({}, lease, "", terms)};
  }

  Guarded& daemon_ = Another();
  LeaseProofs proofs_{clock_, daemon_.guard};
};

TEST_F(LeaseProofsTest, ProofSaysWhatWasGranted) {
  const int64_t now = server_.clock().Now().micros;

  const auto proved = proofs_.Check({}, Grant(1, {now + 60'000'000}, {now + 90'000'000}));

  ASSERT_TRUE(proved);
  EXPECT_EQ(proved->ttl, kTtl);
  EXPECT_EQ(proved->lock_delay, 500ms);
  EXPECT_EQ(proved->max_hold_end.micros, now + 60'000'000);
  EXPECT_EQ(proved->lease_end.micros, now + 10'000'000);
  EXPECT_EQ(proved->hold_end.micros, now + 90'000'000);
}

TEST_F(LeaseProofsTest, GuardThatHasNotLookedAtTheStoreGivesNone) {
  LeaseProofs none(clock_, Another().guard);
  EXPECT_EQ(none.Make({}, {.name = "a", .token = {7}}, "", {}), "");
  EXPECT_FALSE(none.Check({}, Grant(1)));
}

TEST_F(LeaseProofsTest, EndedLeaseIsRememberedForTheLongestLeaseAndNotForEver) {
  for (const core::Millis pause : {0ms, 4'000ms, 9'999ms}) {
    executor_.AdvanceBy(pause);
    const core::ExtendRequest shown = Grant(static_cast<uint64_t>(pause.count()));
    proofs_.Ended({}, shown.lease_id);
    executor_.AdvanceBy(kTtl - 1ms);
    EXPECT_FALSE(proofs_.Check({}, shown)) << pause.count();
    executor_.AdvanceBy(kTtl + 2ms);
    EXPECT_TRUE(proofs_.Check({}, shown))
        << pause.count() << ": the script knows that it has ended";
  }
}

TEST_F(LeaseProofsTest, WithMoreEndedLeasesThanItMayRememberTheOlderHalfGoes) {
  constexpr uint64_t kHalf = core::limits::kEndedLeasesMax / 2;
  const core::ExtendRequest first = Grant(0), second = Grant(kHalf);
  for (uint64_t i = 0; i < 2 * kHalf; ++i) proofs_.Ended({}, Id(i));
  EXPECT_FALSE(proofs_.Check({}, first));
  proofs_.Ended({}, Id(2 * kHalf));
  EXPECT_TRUE(proofs_.Check({}, first));
  EXPECT_FALSE(proofs_.Check({}, second));
}

}  // namespace
}  // namespace lockkeeper::redis
