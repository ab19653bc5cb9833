// SPDX-License-Identifier: Apache-2.0
//
// The front door of the domain: how long the store gets, what callers hear, what is cleaned up
// after acquires that were given up, and what is refused. Waiting in line is in line_test.cc.
#include "core/lock_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/domain.h"
#include "core/errors.h"
#include "support/manual_executor.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr Millis kRequestTimeout{1'000};
// Pause before the second try of a withdrawal.
constexpr Millis kFirstPause{20};

class LockManagerTest : public testing::Test {
 protected:
  AcquireRequest Request(const std::string& name = "a") {
    AcquireRequest request;
    request.name = name;
    request.lease_id = LeaseId::FromBits(1, 2);
    request.attempt = 3;
    request.ttl = Millis(30'000);
    request.lock_delay = Millis(5'000);
    request.keeper = Keeper(7, 8);
    request.deadline = Instant::max();
    return request;
  }

  static Lease Granted(const std::string& name = "a") {
    Lease lease;
    lease.name = name;
    lease.lease_id = LeaseId::FromBits(1, 2);
    lease.token = FencingToken{42};
    lease.remaining_ttl = Millis(30'000);
    return lease;
  }

  static absl::Status Unknown() { return Error(ErrorReason::kOutcomeUnknown, "no reply"); }
  static absl::Status Unavailable() { return Error(ErrorReason::kStoreUnavailable, "away"); }

  // An acquire whose outcome the store does not know.
  void GiveUpAcquire() {
    locks_.Acquire(Request(), acquired_.Into());
    store_.acquires.Answer(Unknown());
    ASSERT_FALSE(acquired_.came()) << "the caller waits for the clean-up";
    ASSERT_EQ(store_.withdrawals.size(), 1U);
  }

  std::optional<ErrorReason> Reason() {
    EXPECT_TRUE(acquired_.came());
    return acquired_.came() ? ReasonOf(acquired_.value().status()) : std::nullopt;
  }

  Millis FromNow(Instant time) { return std::chrono::duration_cast<Millis>(time - clock_.Now()); }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PendingStore store_;
  RecordingObserver observer_;
  Domain domain_{store_,    &store_,   clock_,
                 executor_, observer_, {.request_timeout = kRequestTimeout}};
  LockManager& locks_ = domain_.locks();
  Caught<AcquireAnswer> acquired_;
};

TEST_F(LockManagerTest, GrantIsHandedOn) {
  locks_.Acquire(Request(), acquired_.Into());
  EXPECT_FALSE(acquired_.came());
  EXPECT_EQ(store_.acquires.front().name, "a");
  EXPECT_EQ(store_.acquires.front().keeper, Keeper(7, 8));

  store_.acquires.Answer(AcquireOutcome(Granted()));

  ASSERT_TRUE(acquired_.came() && acquired_.value().ok());
  EXPECT_EQ(std::get<Lease>(*acquired_.value()).token, FencingToken{42});
  EXPECT_EQ(locks_.outstanding(), 0U);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

TEST_F(LockManagerTest, ContentionIsHandedOn) {
  locks_.Acquire(Request(), acquired_.Into());
  store_.acquires.Answer(AcquireOutcome(Contention{.holder_owner = "ada"}));

  ASSERT_TRUE(acquired_.came() && acquired_.value().ok());
  EXPECT_EQ(std::get<Contention>(*acquired_.value()).holder_owner, "ada");
}

TEST_F(LockManagerTest, GrantAfterAnExpiredLeaseIsObserved) {
  locks_.Acquire(Request(), acquired_.Into());
  Lease lease = Granted();
  lease.previous_lease_expired = true;
  store_.acquires.Answer(AcquireOutcome(lease));

  EXPECT_THAT(observer_.expired, ElementsAre(Pair("a", FencingToken{42})));
}

TEST_F(LockManagerTest, ErrorsWithoutEffectAreHandedOnAndNothingIsWithdrawn) {
  for (const ErrorReason reason :
       {ErrorReason::kStoreUnavailable, ErrorReason::kLeaseEnded, ErrorReason::kStoreCorrupt,
        ErrorReason::kFormatTooNew, ErrorReason::kStoreQuarantined}) {
    Caught<AcquireAnswer> answer;
    locks_.Acquire(Request(), answer.Into());
    store_.acquires.Answer(Error(reason, "why"));

    ASSERT_TRUE(answer.came());
    EXPECT_EQ(ReasonOf(answer.value().status()), reason);
    EXPECT_EQ(store_.withdrawals.size(), 0U);
    EXPECT_EQ(locks_.outstanding(), 0U);
  }
}

TEST_F(LockManagerTest, UnknownOutcomeIsWithdrawnForTheVeryCall) {
  GiveUpAcquire();

  const WithdrawRequest request = store_.withdrawals.front();
  EXPECT_EQ(request.name, "a");
  EXPECT_EQ(request.lease_id, LeaseId::FromBits(1, 2));
  EXPECT_EQ(request.attempt, 3);
  EXPECT_EQ(request.keeper, Keeper(7, 8));
}

// An error that nobody of ours made tells nothing of what happened.
TEST_F(LockManagerTest, ForeignErrorIsAnUnknownOutcome) {
  locks_.Acquire(Request(), acquired_.Into());
  store_.acquires.Answer(absl::InternalError("from elsewhere"));

  EXPECT_EQ(store_.withdrawals.size(), 1U);
}

TEST_F(LockManagerTest, ConfirmedWithdrawalIsToldAsNothingGranted) {
  for (const WithdrawResult result : {WithdrawResult::kWithdrawn, WithdrawResult::kNotGranted}) {
    Caught<AcquireAnswer> answer;
    locks_.Acquire(Request(), answer.Into());
    store_.acquires.Answer(Unknown());
    store_.withdrawals.Answer(result);

    ASSERT_TRUE(answer.came());
    EXPECT_EQ(ReasonOf(answer.value().status()), ErrorReason::kStoreUnavailable);
    executor_.AdvanceBy(seconds(5));  // The acquire may still arrive.
    if (store_.withdrawals.size() > 0) store_.withdrawals.Answer(result);
    EXPECT_EQ(locks_.outstanding(), 0U);
  }
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kWithdrawn),
                                                 Pair("a", WithdrawalEnd::kNotGranted)));
}

// Nobody can read what the store answered: it may have granted.
TEST_F(LockManagerTest, GrantWhoseAnswerCannotBeReadIsTakenBack) {
  const absl::Status unreadable = Error(ErrorReason::kInvariantViolated, "another shape");
  const std::vector<std::pair<absl::StatusOr<WithdrawResult>, ErrorReason>> cases = {
      {WithdrawResult::kWithdrawn, ErrorReason::kInvariantViolated},
      {WithdrawResult::kKept, ErrorReason::kOutcomeUnknown},
      {unreadable, ErrorReason::kOutcomeUnknown},
  };
  for (const auto& [withdrawal, told] : cases) {
    Caught<AcquireAnswer> answer;
    locks_.Acquire(Request(), answer.Into());
    store_.acquires.Answer(unreadable);
    store_.withdrawals.Answer(withdrawal);

    ASSERT_TRUE(answer.came());
    EXPECT_EQ(ReasonOf(answer.value().status()), told);
    EXPECT_EQ(locks_.outstanding(), 0U);
  }
}

TEST_F(LockManagerTest, GrantThatARetryHasTakenOverStaysUnknownToItsFirstCall) {
  GiveUpAcquire();
  store_.withdrawals.Answer(WithdrawResult::kKept);

  EXPECT_EQ(Reason(), ErrorReason::kOutcomeUnknown);
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kKept)));
  EXPECT_EQ(locks_.outstanding(), 0U);
}

TEST_F(LockManagerTest, UnconfirmedWithdrawalIsToldAsUnknownAndGoesOn) {
  for (const absl::Status& error : {Unknown(), Unavailable()}) {
    Caught<AcquireAnswer> answer;
    locks_.Acquire(Request(), answer.Into());
    store_.acquires.Answer(Unknown());
    store_.withdrawals.Answer(error);

    ASSERT_TRUE(answer.came());
    EXPECT_EQ(ReasonOf(answer.value().status()), ErrorReason::kOutcomeUnknown);
    EXPECT_EQ(locks_.outstanding(), 1U) << "the withdrawal";
    executor_.AdvanceBy(kFirstPause);
    store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
    EXPECT_EQ(locks_.outstanding(), 0U);
  }
}

TEST_F(LockManagerTest, WithdrawalIsLeftToTheTtlWhenTheLeaseHasEndedByItself) {
  GiveUpAcquire();
  const Instant start = clock_.Now();
  while (store_.withdrawals.size() > 0) {
    store_.withdrawals.Answer(Unavailable());
    executor_.AdvanceUntil([this] { return store_.withdrawals.size() > 0; }, seconds(5));
  }

  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kLeftToTtl)));
  EXPECT_EQ(locks_.outstanding(), 0U);
  // The time that the acquire may be on its way, the lease's ttl and lock_delay, less at most the
  // pause between two tries, plus this loop's end.
  EXPECT_GE(clock_.Now() - start, seconds(36));
  EXPECT_LE(clock_.Now() - start, seconds(43));
}

TEST_F(LockManagerTest, WithdrawalOfACorruptRecordIsNotTriedAgain) {
  GiveUpAcquire();
  store_.withdrawals.Answer(Error(ErrorReason::kStoreCorrupt, "garbage"));

  EXPECT_EQ(Reason(), ErrorReason::kOutcomeUnknown);
  EXPECT_EQ(locks_.outstanding(), 0U);
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kLeftToTtl)));
}

TEST_F(LockManagerTest, GrantWhoseAnswerDidNotArriveIsWithdrawnUntilItEnds) {
  Lease lease = Granted();
  lease.remaining_ttl = Millis(100);
  locks_.Withdraw(lease, 3, Keeper(7, 8));
  EXPECT_EQ(locks_.outstanding(), 1U);
  EXPECT_EQ(store_.withdrawals.front().attempt, 3);
  EXPECT_EQ(store_.withdrawals.front().keeper, Keeper(7, 8));
  EXPECT_EQ(store_.withdrawals.front().lease_id, lease.lease_id);

  store_.withdrawals.Answer(Unavailable());
  executor_.AdvanceBy(kFirstPause);
  store_.withdrawals.Answer(Unavailable());
  executor_.AdvanceBy(seconds(1));
  store_.withdrawals.Answer(Unavailable());

  EXPECT_EQ(locks_.outstanding(), 0U);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

TEST_F(LockManagerTest, StoreGetsAShareOfTheTimeSoThatTheRestIsForTheCleanUp) {
  locks_.Acquire(Request(), acquired_.Into());

  EXPECT_EQ(FromNow(store_.acquires.front().deadline), Millis(600));
  executor_.AdvanceBy(Millis(600));
  store_.acquires.Answer(Unknown());
  EXPECT_EQ(FromNow(store_.withdrawals.front().deadline), kRequestTimeout);
}

TEST_F(LockManagerTest, ShorterDeadlineOfTheCallerBoundsTheWholeAcquire) {
  AcquireRequest request = Request();
  request.deadline = clock_.Now() + milliseconds(500);
  locks_.Acquire(request, acquired_.Into());
  const Millis for_grant = FromNow(store_.acquires.front().deadline);
  EXPECT_GT(for_grant, Millis(250));
  EXPECT_LT(for_grant, Millis(350));

  executor_.AdvanceBy(for_grant);
  store_.acquires.Answer(Unknown());
  const Instant answered = store_.withdrawals.front().deadline;
  EXPECT_LT(answered, request.deadline) << "our answer has to arrive before the caller's end";
  EXPECT_GT(answered, request.deadline - milliseconds(50));
}

TEST_F(LockManagerTest, CallerWhoseTimeIsUpGivesTheStoreNone) {
  AcquireRequest request = Request();
  request.deadline = clock_.Now() - seconds(1);
  locks_.Acquire(request, acquired_.Into());

  EXPECT_LE(store_.acquires.front().deadline, clock_.Now());
}

TEST_F(LockManagerTest, OtherOperationsGetTheWholeTimeAndAreHandedOn) {
  Caught<Lease> extended;
  Caught<ReleaseAnswer> released;
  Caught<FenceAnswer> fenced;
  locks_.Extend({.name = "a", .deadline = Instant::max()}, extended.Into());
  locks_.Release({.name = "a", .deadline = Instant::max()}, released.Into());
  locks_.Fence({.name = "a", .deadline = clock_.Now() + milliseconds(100)}, fenced.Into());
  EXPECT_EQ(locks_.outstanding(), 3U);
  EXPECT_EQ(FromNow(store_.extends.front().deadline), kRequestTimeout);
  EXPECT_EQ(FromNow(store_.releases.front().deadline), kRequestTimeout);
  EXPECT_EQ(FromNow(store_.fences.front().deadline), Millis(90));

  store_.extends.Answer(Error(ErrorReason::kLeaseLost, "lost"));
  store_.releases.Answer(ReleaseAnswer{NotReleasedReason::kExpired});
  store_.fences.Answer(FenceAnswer{Verdict::kStale, FencingToken{9}});

  EXPECT_EQ(ReasonOf(extended.value().status()), ErrorReason::kLeaseLost);
  EXPECT_EQ(released.value()->not_released, NotReleasedReason::kExpired);
  EXPECT_EQ(fenced.value()->newest, FencingToken{9});
  EXPECT_EQ(locks_.outstanding(), 0U);
}

// Extend and Release without a reply are the client's to repeat: nothing is taken back for them.
TEST_F(LockManagerTest, ObserverHearsHowLongALeaseWasHeld) {
  Caught<ReleaseAnswer> released;
  locks_.Release({.name = "a", .deadline = Instant::max()}, released.Into());
  store_.releases.Answer(ReleaseAnswer{.held = Micros(7)});

  EXPECT_TRUE(released.value()->released());
  EXPECT_EQ(observer_.held_for, std::vector<Micros>{Micros(7)});
}

TEST_F(LockManagerTest, OtherOperationsWithoutAReplyAreToldAsUnknown) {
  Caught<Lease> extended;
  locks_.Extend({.name = "a", .deadline = Instant::max()}, extended.Into());
  store_.extends.Answer(Unknown());

  EXPECT_EQ(ReasonOf(extended.value().status()), ErrorReason::kOutcomeUnknown);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

TEST_F(LockManagerTest, DrainingRefusesAcquiresAndLetsEverythingElseGoOn) {
  Caught<AcquireAnswer> before;
  locks_.Acquire(Request(), before.Into());
  locks_.StartDraining();
  locks_.Acquire(Request("b"), acquired_.Into());
  EXPECT_FALSE(acquired_.came()) << "never before the call returned";
  executor_.RunUntilIdle();
  EXPECT_EQ(Reason(), ErrorReason::kServerDraining);
  EXPECT_EQ(store_.acquires.size(), 1U);

  Caught<Lease> extended;
  locks_.Extend({.name = "a", .deadline = Instant::max()}, extended.Into());
  store_.extends.Answer(Granted());
  EXPECT_TRUE(extended.value().ok());
  store_.acquires.Answer(AcquireOutcome(Granted()));
  EXPECT_TRUE(before.value().ok()) << "work in flight finishes";
  EXPECT_EQ(locks_.outstanding(), 0U);
}

TEST_F(LockManagerTest, DrainingWaitsForWithdrawals) {
  GiveUpAcquire();
  locks_.StartDraining();
  EXPECT_EQ(locks_.outstanding(), 2U) << "the acquire and its withdrawal";

  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  EXPECT_EQ(Reason(), ErrorReason::kStoreUnavailable);
  EXPECT_EQ(locks_.outstanding(), 0U);
}

TEST_F(LockManagerTest, TooMuchOutstandingIsRefusedUntilSomethingIsAnswered) {
  std::vector<Caught<Lease>> outstanding(limits::kOperationsOutstandingMax);
  for (Caught<Lease>& answer : outstanding) {
    locks_.Extend({.name = "a", .deadline = Instant::max()}, answer.Into());
  }
  Caught<Lease> extended;
  Caught<ReleaseAnswer> released;
  Caught<FenceAnswer> fenced;
  locks_.Acquire(Request(), acquired_.Into());
  locks_.Extend({.name = "a", .deadline = Instant::max()}, extended.Into());
  locks_.Release({.name = "a", .deadline = Instant::max()}, released.Into());
  locks_.Fence({.name = "a", .deadline = Instant::max()}, fenced.Into());
  EXPECT_FALSE(acquired_.came() || extended.came() || released.came() || fenced.came());
  executor_.RunUntilIdle();

  EXPECT_EQ(Reason(), ErrorReason::kRateLimit);
  EXPECT_EQ(ReasonOf(extended.value().status()), ErrorReason::kRateLimit);
  EXPECT_EQ(ReasonOf(released.value().status()), ErrorReason::kRateLimit);
  EXPECT_EQ(ReasonOf(fenced.value().status()), ErrorReason::kRateLimit);
  EXPECT_EQ(locks_.outstanding(), limits::kOperationsOutstandingMax);

  store_.extends.Answer(Granted());
  Caught<FenceAnswer> accepted;
  locks_.Fence({.name = "a", .deadline = Instant::max()}, accepted.Into());
  executor_.RunUntilIdle();
  EXPECT_FALSE(accepted.came());
  EXPECT_EQ(store_.fences.size(), 1U);
}

}  // namespace
}  // namespace lockkeeper::core
