// SPDX-License-Identifier: Apache-2.0
#include "core/withdrawals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "core/errors.h"
#include "core/limits.h"
#include "support/manual_executor.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;

class WithdrawalsTest : public testing::Test {
 protected:
  WithdrawRequest Request(const std::string& name = "a") {
    return {name, LeaseId::FromBits(1, 2), 1, Keeper(3, 4), clock_.Now() + Millis(300)};
  }

  // Starts one that the store has a minute to confirm.
  void Start(Done<WithdrawResult> first_answer) {
    withdrawals_->Start(Request(), clock_.Now() + seconds(60), std::move(first_answer));
  }

  static absl::Status Unavailable() { return Error(ErrorReason::kStoreUnavailable, "away"); }

  static AcquireRequest AcquireOf() {
    AcquireRequest request;
    request.name = "a";
    request.lease_id = LeaseId::FromBits(1, 2);
    request.ttl = Millis(30'000);
    return request;
  }

  // The store is away: it answers each try at once.
  void StayAwayFor(Micros duration) {
    const Instant back = clock_.Now() + duration;
    while (clock_.Now() < back) {
      if (store_.withdrawals.size() > 0) store_.withdrawals.Answer(Unavailable());
      executor_.AdvanceBy(Millis(10));
    }
  }

  static constexpr Millis kCallLifetime{2'000};

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PendingStore store_;
  RecordingObserver observer_;
  std::unique_ptr<Withdrawals> withdrawals_ =
      std::make_unique<Withdrawals>(store_, clock_, executor_, observer_, kCallLifetime);
  Caught<WithdrawResult> first_;
};

TEST_F(WithdrawalsTest, ConfirmationEndsItAndIsTold) {
  Start(first_.Into());
  EXPECT_EQ(withdrawals_->outstanding(), 1U);
  EXPECT_EQ(store_.withdrawals.front().deadline, clock_.Now() + Millis(300));
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);

  ASSERT_TRUE(first_.came());
  EXPECT_EQ(*first_.value(), WithdrawResult::kWithdrawn);
  EXPECT_EQ(withdrawals_->outstanding(), 0U);
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kWithdrawn)));
}

TEST_F(WithdrawalsTest, FirstAnswerIsToldOnceAndTriesGoOn) {
  Start(first_.Into());
  store_.withdrawals.Answer(Unavailable());
  ASSERT_TRUE(first_.came());
  EXPECT_EQ(ReasonOf(first_.value().status()), ErrorReason::kStoreUnavailable);

  executor_.AdvanceBy(seconds(1));
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  EXPECT_EQ(withdrawals_->outstanding(), 0U);
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kNotGranted)));
}

// The store may do the acquire after the withdrawal, and have forgotten by then that it is void.
TEST_F(WithdrawalsTest, AcquireThatMayStillArriveIsLookedForWhenItCanNoMore) {
  Caught<AcquireAnswer> answer;
  withdrawals_->TakeBackUnknown(AcquireOf(), clock_.Now() + Millis(300),
                                Error(ErrorReason::kOutcomeUnknown, "no reply"), answer.Into());
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  ASSERT_TRUE(answer.came()) << "nobody waits for that";
  EXPECT_EQ(ReasonOf(answer.value().status()), ErrorReason::kStoreUnavailable);

  executor_.AdvanceBy(kCallLifetime);
  EXPECT_EQ(store_.withdrawals.size(), 0U) << "it could come the moment after";
  executor_.AdvanceBy(seconds(1));
  ASSERT_EQ(store_.withdrawals.size(), 1U);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);

  EXPECT_EQ(withdrawals_->outstanding(), 0U);
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kWithdrawn)));
}

TEST_F(WithdrawalsTest, AcquireThatHasArrivedIsNotLookedForAgain) {
  for (const WithdrawResult& result :
       {WithdrawResult(WithdrawResult::kWithdrawn), WithdrawResult(WithdrawResult::kKept)}) {
    Caught<AcquireAnswer> answer;
    withdrawals_->TakeBackUnknown(AcquireOf(), clock_.Now() + Millis(300),
                                  Error(ErrorReason::kOutcomeUnknown, "no reply"), answer.Into());
    store_.withdrawals.Answer(result);

    EXPECT_EQ(withdrawals_->outstanding(), 0U);
  }
}

// It gets its lease when it arrives, after the withdrawal began.
TEST_F(WithdrawalsTest, AcquireThatMayStillArriveIsWithdrawnUntilALeaseFromThenHasEnded) {
  Caught<AcquireAnswer> answer;
  AcquireRequest request = AcquireOf();
  request.ttl = Millis(10'000);
  withdrawals_->TakeBackUnknown(request, clock_.Now() + Millis(300),
                                Error(ErrorReason::kOutcomeUnknown, "no reply"), answer.Into());
  StayAwayFor(request.ttl + kCallLifetime - Millis(1'000));
  EXPECT_TRUE(answer.came());
  EXPECT_EQ(withdrawals_->outstanding(), 1U);

  StayAwayFor(seconds(2));
  EXPECT_EQ(withdrawals_->outstanding(), 0U);
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kLeftToTtl)));
}

// It may have got the lock at once, before it had to wait.
TEST_F(WithdrawalsTest, AcquireThatMayWaitIsWithdrawnAsLongAsItsGrantClosesTheLock) {
  Caught<AcquireAnswer> answer;
  AcquireRequest request = AcquireOf();
  request.wait_timeout = seconds(10);
  request.hold_at_least = 2 * Withdrawals::kLeaveTriedFor;
  withdrawals_->TakeBackUnknown(request, clock_.Now() + Millis(300),
                                Error(ErrorReason::kOutcomeUnknown, "no reply"), answer.Into());
  StayAwayFor(request.hold_at_least - Millis(1'000));
  EXPECT_EQ(withdrawals_->outstanding(), 1U);

  StayAwayFor(seconds(5));
  EXPECT_EQ(withdrawals_->outstanding(), 0U);
}

TEST_F(WithdrawalsTest, PausesDoubleUpToASecond) {
  Start(first_.Into());
  std::vector<int64_t> pauses;
  for (int i = 0; i < 9; ++i) {
    store_.withdrawals.Answer(Unavailable());
    const Instant answered = clock_.Now();
    ASSERT_TRUE(
        executor_.AdvanceUntil([this] { return store_.withdrawals.size() > 0; }, seconds(5)));
    pauses.push_back(std::chrono::duration_cast<Millis>(clock_.Now() - answered).count());
  }

  EXPECT_THAT(pauses, ElementsAre(20, 40, 80, 160, 320, 640, 1000, 1000, 1000));
}

TEST_F(WithdrawalsTest, LaterTriesHaveTimeOfTheirOwn) {
  Start(first_.Into());
  store_.withdrawals.Answer(Unavailable());
  executor_.AdvanceBy(seconds(1));

  EXPECT_GT(store_.withdrawals.front().deadline, clock_.Now());
  EXPECT_EQ(store_.withdrawals.front().keeper, Keeper(3, 4));
}

TEST_F(WithdrawalsTest, ItIsGivenUpWhenTheNextTryWouldComeTooLate) {
  withdrawals_->Start(Request(), clock_.Now() + Millis(19), first_.Into());
  store_.withdrawals.Answer(Unavailable());

  EXPECT_TRUE(first_.came());
  EXPECT_EQ(withdrawals_->outstanding(), 0U);
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("a", WithdrawalEnd::kLeftToTtl)));
  executor_.AdvanceBy(seconds(10));
  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

TEST_F(WithdrawalsTest, FirstAnswerMayStartAnother) {
  bool second_came = false;
  Start([&](absl::StatusOr<WithdrawResult>) {
    withdrawals_->Start(Request("b"), clock_.Now() + seconds(1),
                        [&](absl::StatusOr<WithdrawResult>) { second_came = true; });
  });
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);

  EXPECT_TRUE(second_came);
  EXPECT_EQ(withdrawals_->outstanding(), 0U);
}

TEST_F(WithdrawalsTest, AnswerThatComesAfterItsEndIsIgnored) {
  Start(first_.Into());
  withdrawals_.reset();
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);

  EXPECT_FALSE(first_.came());
}

TEST_F(WithdrawalsTest, TimerDoesNotOutliveIt) {
  Start(first_.Into());
  store_.withdrawals.Answer(Unavailable());
  withdrawals_.reset();
  executor_.AdvanceBy(seconds(5));

  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

TEST_F(WithdrawalsTest, OldestIsLeftToItsTtlWhenThereAreTooMany) {
  for (size_t i = 0; i < limits::kWithdrawalsMax; ++i) {
    withdrawals_->Start(Request(std::to_string(i)), clock_.Now() + seconds(60),
                        [](absl::StatusOr<WithdrawResult>) {});
    store_.withdrawals.Answer(Unavailable());
  }
  EXPECT_EQ(withdrawals_->outstanding(), limits::kWithdrawalsMax);
  EXPECT_TRUE(observer_.withdrawals.empty());

  Start(first_.Into());
  EXPECT_EQ(withdrawals_->outstanding(), limits::kWithdrawalsMax);
  EXPECT_THAT(observer_.withdrawals, ElementsAre(Pair("0", WithdrawalEnd::kLeftToTtl)));
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  EXPECT_TRUE(first_.came());
}

// Its caller still waits for the first answer, which must come exactly once.
TEST_F(WithdrawalsTest, CallerThatStillWaitsIsNotForgotten) {
  std::vector<Caught<WithdrawResult>> waiting(limits::kWithdrawalsMax + 1);
  for (Caught<WithdrawResult>& answer : waiting) {
    withdrawals_->Start(Request(), clock_.Now() + seconds(60), answer.Into());
  }
  for (size_t i = 0; i < waiting.size(); ++i) {
    store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  }

  for (const Caught<WithdrawResult>& answer : waiting) ASSERT_TRUE(answer.came());
  EXPECT_EQ(withdrawals_->outstanding(), 0U);
}

}  // namespace
}  // namespace lockkeeper::core
