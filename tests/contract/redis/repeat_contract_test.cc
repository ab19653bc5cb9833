// SPDX-License-Identifier: Apache-2.0
//
// The repeat of an acquire whose lease has ended is told so for a minute, also on a lock that
// changes hands more often than its record remembers.
#include "contract/redis/guarded_contract.h"

namespace lockkeeper::support {
namespace {

using core::AcquireRequest;
using testing::Optional;

constexpr uint64_t kMany = 100;  // More leases than a record remembers.

class RepeatContract : public GuardedContract {
 protected:
  // Leases of others come and go.
  void ChangeHands(uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) {
      Grant("a", Id(next_id_));
      Release("a", Id(next_id_++));
    }
  }

  AcquireRequest Attempt(const LeaseId& id, int32_t attempt) {
    AcquireRequest request = AcquireOf("a", id);
    request.attempt = attempt;
    request.keeper = core::Keeper(1, static_cast<uint64_t>(attempt));
    return request;
  }

  AcquireRequest Waiter(const LeaseId& id, int32_t attempt) {
    AcquireRequest request = Attempt(id, attempt);
    request.wait_timeout = Millis(60'000);
    return request;
  }

  void ExpectEnded(const AcquireRequest& request) {
    EXPECT_THAT(ReasonOf(Ask(request)), Optional(ErrorReason::kLeaseEnded));
  }

 private:
  uint64_t next_id_ = 1'000;
};

TEST_P(RepeatContract, LeaseThatEndedIsNeverGrantedAnew) {
  for (const uint64_t others : {5, 20, 21, 22, 23, 24, 25, 26, 27, 28, 100}) {
    SCOPED_TRACE(others);
    Grant(Attempt(Id(others), 1));
    Release("a", Id(others));
    ChangeHands(others);

    ExpectEnded(Attempt(Id(others), 2));
    ExpectEnded(Attempt(Id(others), 3));
    ExpectEnded(Waiter(Id(others), 4));
  }
}

TEST_P(RepeatContract, LeaseThatEndedIsNotGrantedAnewWithinAMinute) {
  Grant(Attempt(Id(1), 1));
  Release("a", Id(1));
  for (int second = 0; second < 59; ++second) {
    ChangeHands(3);
    Pass(Millis(1'000));
  }

  ExpectEnded(Attempt(Id(1), 2));
}

TEST_P(RepeatContract, RefusedRepeatIsVoidForGood) {
  ChangeHands(kMany);

  ExpectEnded(Attempt(Id(1), 2));

  ExpectEnded(Attempt(Id(1), 1));
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);
}

TEST_P(RepeatContract, OthersAreServedAtAnyRate) {
  ChangeHands(kMany);

  Grant(Attempt(Id(1), 1));
  Grant(Attempt(Id(1), 2));
  Release("a", Id(1));
  Grant(Attempt(Id(2), 0));
}

TEST_P(RepeatContract, RetryOfWhatWasNeverGrantedIsServedOnALockThatChangesHandsSeldom) {
  for (int i = 0; i < 20; ++i) {
    ChangeHands(1);
    Pass(Millis(10'000));
  }

  Grant(Attempt(Id(1), 2));
}

TEST_P(RepeatContract, WithdrawnAttemptIsFollowedByTheNext) {
  ChangeHands(kMany);
  AcquireRequest first = Attempt(Id(1), 1);
  Grant(first);
  Withdraw(first);

  Grant(Attempt(Id(1), 2));
}

TEST_P(RepeatContract, WaiterKeepsItsPlaceThroughRepeats) {
  ChangeHands(kMany);
  Grant("a", Id(1));
  const auto first = Ask(Waiter(Id(2), 1));
  ASSERT_TRUE(first.ok()) << first.status();

  const auto again = Ask(Waiter(Id(2), 2));

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(std::get<core::Waiting>(*again).number, std::get<core::Waiting>(*first).number);
  ExpectEnded(Waiter(Id(3), 2));
}

// Its daemon has not heard that another attempt was served elsewhere, and finds the line gone.
TEST_P(RepeatContract, PlaceOfALeaseThatEndedIsNotTakenAgain) {
  constexpr int64_t kOldNumber = 1;
  Grant(Attempt(Id(1), 2));
  Release("a", Id(1));
  ChangeHands(kMany);

  const auto again = Ask(Waiter(Id(1), 1), 0, kOldNumber);

  EXPECT_THAT(ReasonOf(again), Optional(ErrorReason::kLeaseEnded));
}

// Attempts 2 and 3 were cut off, 4 was served, and released. The daemon of 2 takes that one back
// late, and then comes 3.
TEST_P(RepeatContract, LateWithdrawalLetsNoStaleAttemptIn) {
  constexpr int64_t kOldNumber = 1;
  for (const uint64_t id : {1, 2}) {
    Grant(Attempt(Id(id), 1));
    Grant(Attempt(Id(id), 4));
    Release("a", Id(id));
    ChangeHands(kMany);

    EXPECT_EQ(Withdraw(Attempt(Id(id), 2)), core::WithdrawResult::kNotGranted);

    const auto again =
        id == 1 ? Ask(Waiter(Id(id), 3), 0, kOldNumber) : Ask(Now(Attempt(Id(id), 3)));
    EXPECT_THAT(ReasonOf(again), Optional(ErrorReason::kLeaseEnded));
  }
}

TEST_P(RepeatContract, WaiterThatWasWithdrawnIsFollowedByTheNextAttempt) {
  ChangeHands(kMany);
  Grant("a", Id(1));
  ASSERT_TRUE(Ask(Waiter(Id(2), 1)).ok());
  EXPECT_EQ(Withdraw(Waiter(Id(2), 1)), core::WithdrawResult::kNotGranted);

  EXPECT_TRUE(Ask(Waiter(Id(2), 2)).ok());
}

// The third attempt has the lease; older data knows of none.
TEST_P(RepeatContract, WithdrawalInAQuarantineHidesNoProof) {
  ChangeHands(kMany);
  const std::string older = RecordOf("a");
  Grant(Attempt(Id(1), 1));
  const AcquireRequest third = Attempt(Id(1), 3);
  const core::ExtendRequest proved = ProvedExtendOf(third, Grant(third));
  PutRecord("a", older);
  SetTheClock();
  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kStoreQuarantined));

  Withdraw(Attempt(Id(1), 1));

  EXPECT_TRUE(Extended(proved).ok());
}

// Older data may be why nothing is known of it. Were it made void, its holder could not prove it.
TEST_P(RepeatContract, RepeatIsHeldBackByAQuarantine) {
  ChangeHands(kMany);
  SetTheClock();

  EXPECT_THAT(ReasonOf(Ask(Attempt(Id(1), 2))), Optional(ErrorReason::kStoreQuarantined));
  Pass(kQuarantine);
  ExpectEnded(Now(Attempt(Id(1), 3)));
}

LOCKKEEPER_GUARDED_SUITE(RepeatContract);

}  // namespace
}  // namespace lockkeeper::support
