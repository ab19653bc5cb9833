// SPDX-License-Identifier: Apache-2.0
//
// When the line of this daemon asks the store, and what becomes of answers that do not come. What
// clients see of it is in tests/contract/wait_contract_test.cc.
#include "core/local_fifo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>

#include "core/domain.h"
#include "core/errors.h"
#include "support/manual_executor.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class LocalFifoTest : public testing::Test {
 protected:
  static AcquireRequest Request(uint64_t number) {
    AcquireRequest request;
    request.name = "a";
    request.lease_id = LeaseId::FromBits(1, number);
    request.attempt = 1;
    request.ttl = seconds(30);
    request.wait_timeout = minutes(1);
    request.keeper = Keeper(7, number);
    request.deadline = Instant::max();
    return request;
  }

  static AcquireOutcome HeldFor(Micros remaining) {
    return Contention{.holder_owner = "ada", .remaining_ttl = remaining};
  }

  static AcquireOutcome LeaseOf(uint64_t number) {
    Lease lease;
    lease.name = "a";
    lease.lease_id = Request(number).lease_id;
    lease.remaining_ttl = seconds(30);
    return lease;
  }

  static absl::Status Unknown() { return Error(ErrorReason::kOutcomeUnknown, "no reply"); }

  // The first one waits behind a lease that runs for long.
  void Stand(uint64_t number, Micros held_for = seconds(30)) {
    locks_.Acquire(Request(number), answers_[number].Into());
    if (store_.acquires.size() > 0) store_.acquires.Answer(HeldFor(held_for));
    ASSERT_FALSE(answers_[number].came());
  }

  uint64_t AskedFor() { return store_.acquires.front().lease_id == Request(1).lease_id ? 1 : 2; }

  ContentionReason ReasonIn(uint64_t number) {
    if (!answers_[number].came() || !answers_[number].value().ok()) return {};
    const auto* contention = std::get_if<Contention>(&*answers_[number].value());
    return contention == nullptr ? ContentionReason{} : contention->reason;
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PendingStore store_;
  RecordingObserver observer_;
  Domain domain_{store_, nullptr, clock_, executor_, observer_, {}};
  LockManager& locks_ = domain_.locks();
  std::deque<Caught<AcquireAnswer>> answers_{5};
};

TEST_F(LocalFifoTest, OnlyTheFirstAsksTheStoreAndWhenTheLockIsDueFree) {
  Stand(1, milliseconds(100));
  Stand(2);
  EXPECT_EQ(locks_.waiting(), 2U);

  executor_.AdvanceBy(milliseconds(100));
  EXPECT_EQ(store_.acquires.size(), 0U);
  executor_.AdvanceBy(milliseconds(1));

  ASSERT_EQ(store_.acquires.size(), 1U);
  EXPECT_EQ(AskedFor(), 1U);
}

// Other daemons release too.
TEST_F(LocalFifoTest, FirstAsksFromTimeToTime) {
  Stand(1);
  for (int i = 0; i < 3; ++i) {
    executor_.AdvanceBy(LocalFifo::kRetryInterval);
    ASSERT_EQ(store_.acquires.size(), 1U);
    store_.acquires.Answer(HeldFor(seconds(30)));
  }
}

TEST_F(LocalFifoTest, ReleaseOverThisDaemonLetsTheFirstAskAtOnce) {
  Stand(1);
  Stand(2);
  locks_.Release({.name = "a", .deadline = Instant::max()}, [](absl::StatusOr<ReleaseAnswer>) {});
  store_.releases.Answer(ReleaseAnswer{});
  executor_.RunUntilIdle();

  ASSERT_EQ(store_.acquires.size(), 1U);
  store_.acquires.Answer(LeaseOf(1));
  EXPECT_TRUE(answers_[1].came());
  EXPECT_FALSE(answers_[2].came());
}

TEST_F(LocalFifoTest, ReleaseDuringAnAnswerLetsTheFirstAskAgain) {
  Stand(1);
  executor_.AdvanceBy(LocalFifo::kRetryInterval);
  ASSERT_EQ(store_.acquires.size(), 1U);
  locks_.Release({.name = "a", .deadline = Instant::max()}, [](absl::StatusOr<ReleaseAnswer>) {});
  store_.releases.Answer(ReleaseAnswer{});
  store_.acquires.Answer(HeldFor(seconds(30)));
  executor_.RunUntilIdle();

  EXPECT_EQ(store_.acquires.size(), 1U);
}

TEST_F(LocalFifoTest, ClientThatClaimsGetsALeaseAsAnOfferSinceItAskedLongAgo) {
  AcquireRequest request = Request(1);
  request.claim = ClaimMode::kByClient;
  locks_.Acquire(request, answers_[1].Into());
  store_.acquires.Answer(HeldFor(milliseconds(1)));
  executor_.AdvanceBy(milliseconds(5));
  store_.acquires.Answer(LeaseOf(1));

  ASSERT_TRUE(answers_[1].came() && answers_[1].value().ok());
  EXPECT_TRUE(std::get<Lease>(*answers_[1].value()).offered);
  EXPECT_EQ(std::get<Lease>(*answers_[1].value()).waited, Micros(milliseconds(5)));
}

TEST_F(LocalFifoTest, StoreThatIsAwayEndsNoWait) {
  Stand(1);
  executor_.AdvanceBy(LocalFifo::kRetryInterval);
  store_.acquires.Answer(Error(ErrorReason::kStoreUnavailable, "away"));
  executor_.AdvanceBy(LocalFifo::kRetryInterval);

  ASSERT_EQ(store_.acquires.size(), 1U);
  store_.acquires.Answer(LeaseOf(1));
  EXPECT_TRUE(answers_[1].came() && answers_[1].value().ok());
}

TEST_F(LocalFifoTest, WaiterThatMayHaveTheLockIsAnsweredWhenThatIsTakenBack) {
  Stand(1);
  executor_.AdvanceBy(LocalFifo::kRetryInterval);
  store_.acquires.Answer(Unknown());
  locks_.Abandon(Request(1).keeper);

  ASSERT_EQ(store_.withdrawals.size(), 1U);
  EXPECT_EQ(store_.withdrawals.front().keeper, Request(1).keeper);
  executor_.RunUntilIdle();
  EXPECT_FALSE(answers_[1].came());
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  EXPECT_EQ(ReasonIn(1), ContentionReason::kWaitTimedOut);
}

TEST_F(LocalFifoTest, WaiterThatCouldNotBeWithdrawnIsUnknown) {
  Stand(1);
  executor_.AdvanceBy(LocalFifo::kRetryInterval);
  store_.acquires.Answer(Unknown());
  locks_.Abandon(Request(1).keeper);
  store_.withdrawals.Answer(Unknown());

  ASSERT_TRUE(answers_[1].came());
  EXPECT_EQ(ReasonOf(answers_[1].value().status()), ErrorReason::kOutcomeUnknown);
}

TEST_F(LocalFifoTest, WaitEndsWithTheAnswerThatIsOnItsWay) {
  Stand(1);
  executor_.AdvanceBy(LocalFifo::kRetryInterval);
  ASSERT_EQ(store_.acquires.size(), 1U);
  executor_.AdvanceBy(minutes(1));
  ASSERT_FALSE(answers_[1].came());

  store_.acquires.Answer(HeldFor(seconds(30)));
  executor_.RunUntilIdle();

  EXPECT_EQ(ReasonIn(1), ContentionReason::kWaitTimedOut);
}

TEST_F(LocalFifoTest, FirstThatIsRefusedMakesWayForTheNext) {
  Stand(1);
  Stand(2);
  executor_.AdvanceBy(LocalFifo::kRetryInterval);
  store_.acquires.Answer(Error(ErrorReason::kLeaseEnded, "used up"));
  executor_.RunUntilIdle();

  ASSERT_TRUE(answers_[1].came());
  EXPECT_EQ(ReasonOf(answers_[1].value().status()), ErrorReason::kLeaseEnded);
  ASSERT_EQ(store_.acquires.size(), 1U);
  EXPECT_EQ(AskedFor(), 2U);
}

TEST_F(LocalFifoTest, AttemptsThatAskAtTheSameTimeHaveOnePlace) {
  AcquireRequest again = Request(1);
  again.attempt = 2;
  again.keeper = Request(2).keeper;
  locks_.Acquire(Request(1), answers_[1].Into());
  locks_.Acquire(again, answers_[2].Into());
  store_.acquires.Answer(HeldFor(seconds(30)));
  store_.acquires.Answer(HeldFor(seconds(30)));
  executor_.RunUntilIdle();

  EXPECT_EQ(locks_.waiting(), 1U);
  ASSERT_TRUE(answers_[1].came());
  EXPECT_EQ(ReasonOf(answers_[1].value().status()), ErrorReason::kOutcomeUnknown);
  EXPECT_FALSE(answers_[2].came());
}

TEST_F(LocalFifoTest, CallerThatIsGoneBeforeTheFirstAnswerDoesNotWait) {
  locks_.Acquire(Request(1), answers_[1].Into());
  locks_.Abandon(Request(1).keeper);
  store_.acquires.Answer(HeldFor(seconds(30)));

  EXPECT_EQ(ReasonIn(1), ContentionReason::kWaitTimedOut);
  EXPECT_EQ(locks_.waiting(), 0U);
}

TEST_F(LocalFifoTest, ObserverHearsOfEveryWaitAndItsEnd) {
  Stand(1);
  Stand(2);
  locks_.Abandon(Request(2).keeper);
  executor_.AdvanceBy(LocalFifo::kRetryInterval);
  store_.acquires.Answer(LeaseOf(1));

  EXPECT_EQ(observer_.waits_begun, 2U);
  EXPECT_EQ(observer_.positions, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(observer_.names_waited_for, (std::vector<std::string>{"a", "a"}));
  ASSERT_EQ(observer_.waits_ended.size(), 2U);
  EXPECT_EQ(observer_.waits_ended[0].first, WaitEnd::kCallerLeft);
  EXPECT_EQ(observer_.waits_ended[1].first, WaitEnd::kGranted);
}

}  // namespace
}  // namespace lockkeeper::core
