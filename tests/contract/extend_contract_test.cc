// SPDX-License-Identifier: Apache-2.0
//
// Extend: only the live lease, never shorter, never beyond max_hold.
#include "contract/store_contract.h"

namespace lockkeeper::support {
namespace {

using core::Lease;
using testing::Optional;

class ExtendContract : public StoreContract {};

TEST_P(ExtendContract, EndIsNowPlusTheTtlAsked) {
  const Lease granted = Grant("a", Id(1));
  StepBy(Millis(20'000));

  const Lease extended = Extend(ExtendOf("a", Id(1), Millis(45'000)));

  EXPECT_EQ(extended.name, "a");
  EXPECT_EQ(extended.lease_id, Id(1));
  EXPECT_EQ(extended.token, granted.token);
  EXPECT_EQ(extended.ttl, Millis(45'000));
  EXPECT_EQ(extended.remaining_ttl, Millis(45'000));
  EXPECT_EQ(extended.lease_end.micros, NodeNow().micros + 45'000'000);
}

TEST_P(ExtendContract, UnsetTtlIsTheOneGranted) {
  Grant("a", Id(1));
  Extend(ExtendOf("a", Id(1), Millis(60'000)));
  StepBy(Millis(59'000));

  const Lease extended = Extend(ExtendOf("a", Id(1)));

  EXPECT_EQ(extended.ttl, kTtl);
  EXPECT_EQ(extended.remaining_ttl, kTtl);
}

TEST_P(ExtendContract, LeaseIsNeverShortened) {
  Grant("a", Id(1));

  const Lease extended = Extend(ExtendOf("a", Id(1), Millis(100)));

  EXPECT_EQ(extended.remaining_ttl, kTtl);
  StepBy(kTtl - Micros(1));
  Contend("a", Id(2));
}

TEST_P(ExtendContract, ExtendedLeaseKeepsOthersOut) {
  Grant("a", Id(1));
  for (int i = 0; i < 5; ++i) {
    StepBy(kTtl - Micros(1));
    Extend(ExtendOf("a", Id(1)));
  }
  StepBy(kTtl - Micros(1));
  Contend("a", Id(2));
  StepBy(Micros(1));
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(ExtendContract, LeaseThatEndedIsLost) {
  Grant("a", Id(1));
  StepBy(kTtl);

  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
}

TEST_P(ExtendContract, LeaseThatEndedIsNotRevivedAfterItsSuccessor) {
  Grant("a", Id(1));
  StepBy(kTtl);
  Grant("a", Id(2));

  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
  Release("a", Id(2));
  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
}

TEST_P(ExtendContract, ReleasedLeaseIsLost) {
  Grant("a", Id(1));
  Release("a", Id(1));

  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
}

TEST_P(ExtendContract, LeaseIdThatWasNeverGrantedIsLost) {
  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
  Grant("a", Id(2));
  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
}

TEST_P(ExtendContract, LosingExtendWritesNothing) {
  EXPECT_FALSE(Ask(ExtendOf("a", Id(1))).ok());

  EXPECT_FALSE(world_->IsKept("a"));
}

TEST_P(ExtendContract, LeaseOfAnotherPrincipalIsNotExtended) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.principal = "ada";
  Grant(request);

  core::ExtendRequest extend = ExtendOf("a", Id(1));
  for (const std::string principal : {"bob", "", "adam", "a"}) {
    extend.principal = principal;
    EXPECT_THAT(ReasonOf(Ask(extend)), Optional(ErrorReason::kLeaseLost)) << principal;
  }
  extend.principal = "ada";
  EXPECT_TRUE(Ask(extend).ok());
}

TEST_P(ExtendContract, LeaseEndsAtMaxHoldWhateverIsAsked) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.max_hold = Millis(50'000);
  Grant(request);
  StepBy(Millis(29'000));

  const Lease extended = Extend(ExtendOf("a", Id(1), Millis(60'000)));

  EXPECT_EQ(extended.remaining_ttl, Millis(21'000));
  StepBy(Millis(20'000));
  EXPECT_EQ(Extend(ExtendOf("a", Id(1))).remaining_ttl, Millis(1'000));
  StepBy(Millis(1'000));
  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kLeaseLost));
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(ExtendContract, LockDelayCountsFromTheExtendedEnd) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(5'000);
  Grant(request);
  StepBy(Millis(10'000));
  Extend(ExtendOf("a", Id(1)));

  StepBy(kTtl + Millis(5'000) - Micros(1));
  Contend("a", Id(2));
  StepBy(Micros(1));
  Grant("a", Id(2));
}

TEST_P(ExtendContract, ExtendTellsThatTheLeaseBeforeExpired) {
  Grant("a", Id(1));
  EXPECT_FALSE(Extend(ExtendOf("a", Id(1))).previous_lease_expired);
  StepBy(kTtl);
  Grant("a", Id(2));

  EXPECT_TRUE(Extend(ExtendOf("a", Id(2))).previous_lease_expired);
}

// The clock of a node may be set back: the lease is longer then, never shorter.
TEST_P(ExtendContract, ClockThatWentBackShortensNothing) {
  const Lease granted = Grant("a", Id(1));
  StepBy(-std::chrono::hours(1));

  const Lease extended = Extend(ExtendOf("a", Id(1)));

  EXPECT_EQ(extended.lease_end, granted.lease_end);
  Contend("a", Id(2));
}

LOCKKEEPER_CONTRACT_SUITE(ExtendContract);

}  // namespace
}  // namespace lockkeeper::support
