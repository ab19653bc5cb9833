// SPDX-License-Identifier: Apache-2.0
//
// Release: ends the lease of its id and of no other, says what became of it, however often it is
// asked, and makes the id void for acquires that it overtook.
#include "contract/store_contract.h"
#include "core/limits.h"

namespace lockkeeper::support {
namespace {

using core::NotReleasedReason;
using testing::Optional;

class ReleaseContract : public StoreContract {};

TEST_P(ReleaseContract, LiveLeaseIsReleasedAndTheLockFree) {
  Grant("a", Id(1));

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNone);
  Grant("a", Id(2));
}

TEST_P(ReleaseContract, RepeatAnswersTheSame) {
  Grant("a", Id(1));
  Release("a", Id(1));

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNone);
  Grant("a", Id(2));
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNone);
  EXPECT_TRUE(Ask(ExtendOf("a", Id(2))).ok());
}

TEST_P(ReleaseContract, FirstReleaseSaysWhichLeaseItEndedAndHowLongThatWasHeld) {
  for (const Millis hold_at_least : {Millis(0), Millis(1), kTtl}) {
    const LeaseId id = Id(static_cast<uint64_t>(hold_at_least.count()) + 1);
    core::AcquireRequest request = AcquireOf("a" + std::to_string(hold_at_least.count()), id);
    request.hold_at_least = hold_at_least;
    const core::Lease lease = Grant(request);
    StepBy(kTtl / 2);

    const auto released = Ask(ReleaseOf(request.name, id));
    ASSERT_TRUE(released.ok());
    EXPECT_GE(released->held, kTtl / 2);
    EXPECT_LT(released->held, kTtl);
    EXPECT_EQ(released->token, lease.token);
    const auto again = Ask(ReleaseOf(request.name, id));
    EXPECT_EQ(again->held, Micros(0)) << "counted already";
    EXPECT_EQ(again->token, core::FencingToken{});
  }
}

TEST_P(ReleaseContract, LeaseThatHadEndedAnswersExpired) {
  Grant("a", Id(1));
  StepBy(kTtl);

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kExpired);
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kExpired);
}

// Its daemon takes back what it got too late: that must not let a later attempt in.
TEST_P(ReleaseContract, LateReleaseIsForGoodThoughTheGrantIsWithdrawn) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.attempt = 1;
  Grant(request);
  StepBy(kTtl);
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kExpired);
  EXPECT_EQ(Withdraw(request), core::WithdrawResult::kWithdrawn);

  request.attempt = 2;
  EXPECT_THAT(ReasonOf(Ask(request)), Optional(ErrorReason::kLeaseEnded));
  Grant("a", Id(2));
  EXPECT_THAT(ReasonOf(Ask(request)), Optional(ErrorReason::kLeaseEnded));
}

TEST_P(ReleaseContract, LateReleaseDoesNotHideThatTheLeaseExpired) {
  Grant("a", Id(1));
  StepBy(kTtl);
  Release("a", Id(1));

  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired);
}

TEST_P(ReleaseContract, LateReleaseDoesNotOpenALockDelay) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(5'000);
  Grant(request);
  StepBy(kTtl);
  Release("a", Id(1));

  Contend("a", Id(2));
}

TEST_P(ReleaseContract, ReplacedLeaseAnswersExpiredAndFreesNobodyElses) {
  Grant("a", Id(1));
  StepBy(kTtl);
  Grant("a", Id(2));

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kExpired);
  Contend("a", Id(3));
  EXPECT_TRUE(Ask(ExtendOf("a", Id(2))).ok());
}

TEST_P(ReleaseContract, UnknownLeaseIdAnswersNotHolder) {
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNotHolder);
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNotHolder);
  Grant("a", Id(2));
  EXPECT_EQ(Release("a", Id(3)), NotReleasedReason::kNotHolder);
  EXPECT_TRUE(Ask(ExtendOf("a", Id(2))).ok());
}

// The release overtook the acquire, or its client gave up before the acquire arrived.
TEST_P(ReleaseContract, ReleasedUnknownLeaseIdIsNeverGranted) {
  Release("a", Id(1));
  Grant("b", Id(2));
  Release("b", Id(3));

  for (const int attempt : {0, 1, 2, core::limits::kAttemptMax}) {
    core::AcquireRequest late = AcquireOf("a", Id(1));
    late.attempt = attempt;
    EXPECT_THAT(ReasonOf(Ask(late)), Optional(ErrorReason::kLeaseEnded)) << attempt;
  }
  Release("b", Id(2));
  EXPECT_THAT(ReasonOf(Ask(AcquireOf("b", Id(3)))), Optional(ErrorReason::kLeaseEnded));
  Grant("a", Id(4));
}

TEST_P(ReleaseContract, UnknownLeaseIdLeavesTheLeaseAsItWas) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.labels = {{"k", "v"}};
  const core::Lease lease = Grant(request);
  Release("a", Id(2));

  const core::Lease repeated = Grant("a", Id(1));
  EXPECT_EQ(repeated.token, lease.token);
  EXPECT_EQ(repeated.lease_end, lease.lease_end);
  EXPECT_EQ(Get("a").labels, request.labels);
}

TEST_P(ReleaseContract, LeaseOfAnotherPrincipalIsNotReleased) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.principal = "ada";
  Grant(request);

  core::ReleaseRequest release = ReleaseOf("a", Id(1));
  for (const std::string principal : {"bob", "", "adam", "a"}) {
    release.principal = principal;
    const auto answer = Ask(release);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->not_released, NotReleasedReason::kNotHolder) << principal;
  }
  core::ExtendRequest extend = ExtendOf("a", Id(1));
  extend.principal = "ada";
  EXPECT_TRUE(Ask(extend).ok());
}

TEST_P(ReleaseContract, ForcedLeaseAnswersExpired) {
  Grant("a", Id(1));
  ForceRelease("a");

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kExpired);
  StepBy(kTtl);
  Grant("a", Id(2));
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kExpired);
}

TEST_P(ReleaseContract, WithdrawnLeaseAnswersNotHolderAndIsVoidForGood) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  Withdraw(request);

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNotHolder);
  request.attempt = 2;
  EXPECT_THAT(ReasonOf(Ask(request)), Optional(ErrorReason::kLeaseEnded));
}

TEST_P(ReleaseContract, WithdrawnLeaseThatWasReplacedBecomesVoidForGoodToo) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  Withdraw(request);
  Grant("a", Id(2));
  Release("a", Id(2));

  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNotHolder);
  request.attempt = 2;
  EXPECT_THAT(ReasonOf(Ask(request)), Optional(ErrorReason::kLeaseEnded));
}

LOCKKEEPER_CONTRACT_SUITE(ReleaseContract);

}  // namespace
}  // namespace lockkeeper::support
