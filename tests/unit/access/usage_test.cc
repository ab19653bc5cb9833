// SPDX-License-Identifier: Apache-2.0
// What counts towards quotas, and when it is given back.
#include "access/usage.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockkeeper::access {
namespace {

using core::Instant;
using core::Millis;
using std::chrono::hours;
using std::chrono::seconds;
using Kind = Usage::Kind;
using Urgency = Usage::Urgency;

const Instant kNow{hours(1)};

core::LeaseId Id(uint64_t number) { return core::LeaseId::FromBits(0, number); }

class UsageTest : public testing::Test {
 protected:
  // How many operations of this kind may come at once; 1,000 if there is no bound.
  int Burst(int64_t rate, Urgency urgency, Instant now) {
    int count = 0;
    while (count < 1'000 && !usage_->TakeOperation(rate, urgency, now)) ++count;
    return count;
  }
  bool CanAcquire(const std::string& name, uint64_t id, int64_t most, Instant now = kNow) {
    return static_cast<bool>(Usage::TakeLease(usage_, name, Id(id), most, now));
  }

  void Granted(const std::string& name, uint64_t id, Instant end, Instant now = kNow) {
    usage_->Granted(name, Id(id), end, now);
  }
  // How many leases count.
  int64_t Count(Instant now = kNow) {
    for (int64_t most = 1;; ++most) {
      if (CanAcquire("another", 1'000, most, now)) return most - 1;
    }
  }

  const std::shared_ptr<Usage> usage_ = std::make_shared<Usage>();
};

TEST_F(UsageTest, OperationsOfASecondMayComeAtOnceAndThenAtTheRate) {
  EXPECT_EQ(Burst(10, Urgency::kOrdinary, kNow), 10);
  EXPECT_EQ(usage_->TakeOperation(10, Urgency::kOrdinary, kNow), Millis(100));
  EXPECT_EQ(Burst(10, Urgency::kOrdinary, kNow + Millis(99)), 0);
  EXPECT_EQ(Burst(10, Urgency::kOrdinary, kNow + Millis(300)), 3);
  EXPECT_EQ(Burst(10, Urgency::kOrdinary, kNow + hours(1)), 10) << "no more are saved up";
}

// Else a principal at its limit would lose the leases that it has.
TEST_F(UsageTest, LeasesAreKeptAndReleasedBeyondTheRate) {
  EXPECT_EQ(Burst(10, Urgency::kOrdinary, kNow), 10);
  EXPECT_EQ(Burst(10, Urgency::kKeepsLease, kNow), 10);
  EXPECT_EQ(Burst(10, Urgency::kOrdinary, kNow + seconds(1)), 0) << "it is paid back";
  EXPECT_EQ(Burst(10, Urgency::kOrdinary, kNow + seconds(2)), 10);
}

TEST_F(UsageTest, RateOfZeroAllowsNothing) {
  EXPECT_EQ(usage_->TakeOperation(0, Urgency::kOrdinary, kNow), Millis(1'000));
  EXPECT_EQ(usage_->TakeOperation(0, Urgency::kKeepsLease, kNow + hours(1)), Millis(1'000));
}

TEST_F(UsageTest, WhatIsHeldIsGivenBackOnce) {
  std::vector<Usage::Hold> holds;
  holds.reserve(3);
  for (int i = 0; i < 3; ++i) holds.push_back(Usage::Take(usage_, Kind::kWaiter, 3));
  EXPECT_FALSE(Usage::Take(usage_, Kind::kWaiter, 3));
  EXPECT_TRUE(Usage::Take(usage_, Kind::kSession, 1)) << "another kind, given back at once";
  holds.pop_back();
  Usage::Hold again = Usage::Take(usage_, Kind::kWaiter, 3);
  EXPECT_TRUE(again);
  Usage::Hold moved = std::move(again);
  EXPECT_FALSE(Usage::Take(usage_, Kind::kWaiter, 3));
  holds.clear();
  moved = {};
  EXPECT_TRUE(usage_->IsIdle(kNow));
}

class LeaseCountTest : public UsageTest {
 protected:
  LeaseCountTest() { usage_->CountLeases(); }
};

TEST_F(LeaseCountTest, LeasesCountUntilTheyEnd) {
  Granted("a", 1, kNow + seconds(10));
  Granted("b", 1, kNow + seconds(20));
  EXPECT_EQ(Count(), 2) << "the same id on two locks is two leases";
  EXPECT_EQ(Count(kNow + seconds(10)), 1);
  usage_->Extended("b", Id(1), kNow + seconds(30));
  usage_->Extended("b", Id(1), kNow + seconds(25));  // Says no more than what is known.
  usage_->Extended("x", Id(9), kNow + hours(1));     // Not granted to it here.
  EXPECT_EQ(Count(kNow + seconds(29)), 1);
  usage_->Ended("b", Id(1));
  EXPECT_EQ(Count(kNow + seconds(29)), 0);
}

TEST_F(LeaseCountTest, LeaseCountsWhileASessionKeepsItAndThenUntilItsEnd) {
  EXPECT_TRUE(usage_->Kept("a", Id(1), kNow + seconds(10)));
  EXPECT_EQ(Count(kNow + hours(1)), 1) << "heartbeats extend it unheard";
  usage_->Extended("a", Id(1), kNow + hours(3));  // By another call.
  usage_->Left("a", Id(1), kNow + hours(2), kNow);
  EXPECT_EQ(Count(kNow + hours(2)), 1);
  EXPECT_EQ(Count(kNow + hours(3)), 0);
  EXPECT_TRUE(usage_->IsIdle(kNow));
}

TEST_F(LeaseCountTest, LeaseThatTwoSessionsKeepCountsOnce) {
  usage_->Kept("a", Id(1), kNow + seconds(10));
  usage_->Kept("a", Id(1), kNow + seconds(20));
  usage_->Left("a", Id(1), kNow + seconds(10), kNow);
  EXPECT_EQ(Count(), 1);
  ASSERT_EQ(Count(kNow + seconds(30)), 1) << "the other one keeps it";
  usage_->Left("a", Id(1), kNow + seconds(40), kNow);
  EXPECT_EQ(Count(kNow + seconds(39)), 1);
  EXPECT_EQ(Count(kNow + seconds(40)), 0);
}

TEST_F(LeaseCountTest, LeaseThatHasEndedDoesNotCountThoughASessionKeepsIt) {
  usage_->Kept("a", Id(1), kNow + seconds(10));
  usage_->Ended("a", Id(1));
  usage_->Ended("a", Id(1));
  EXPECT_EQ(Count(), 0);
  EXPECT_FALSE(usage_->IsIdle(kNow));
  usage_->Extended("a", Id(1), kNow + seconds(10));
  EXPECT_EQ(Count(), 1) << "so it had not";
  usage_->Ended("a", Id(1));
  usage_->Left("a", Id(1), kNow + seconds(10), kNow);
  EXPECT_EQ(Count(), 0);
  EXPECT_TRUE(usage_->IsIdle(kNow));
}

// Nothing would forget them: who has no quota of leases is never asked what it has.
TEST_F(UsageTest, WithoutAQuotaNoLeaseIsRemembered) {
  Granted("a", 1, kNow + hours(1));
  EXPECT_FALSE(usage_->Kept("b", Id(2), kNow + hours(1)));
  EXPECT_TRUE(usage_->IsIdle(kNow));

  usage_->CountLeases();
  Granted("a", 1, kNow + seconds(10));
  Granted("b", 2, kNow + seconds(20), kNow + seconds(10));
  usage_->Ended("b", Id(2));
  EXPECT_TRUE(usage_->IsIdle(kNow)) << "the first one was forgotten: the quota may be gone";

  EXPECT_TRUE(usage_->Kept("c", Id(3), kNow + seconds(10)));
  EXPECT_TRUE(usage_->Kept("d", Id(4), kNow + seconds(20)));
  usage_->Left("c", Id(3), kNow + seconds(10), kNow);
  usage_->Left("d", Id(4), kNow + seconds(20), kNow + seconds(10));
  usage_->Ended("d", Id(4));
  EXPECT_TRUE(usage_->IsIdle(kNow)) << "so is one that a session has left";
}

TEST_F(LeaseCountTest, LeasesThatAreAskedForCountToo) {
  const Usage::Hold asked = Usage::TakeLease(usage_, "a", Id(1), 2, kNow);
  usage_->Kept("x", Id(5), kNow + seconds(10));
  EXPECT_FALSE(CanAcquire("b", 2, 2));
  usage_->Ended("x", Id(5));
  EXPECT_TRUE(CanAcquire("b", 2, 2));
}

TEST_F(LeaseCountTest, RepeatOfAHeldLeaseIsAllowedAtTheLimit) {
  Granted("a", 1, kNow + seconds(10));
  EXPECT_TRUE(CanAcquire("a", 1, 1));
  EXPECT_FALSE(CanAcquire("a", 2, 1));
  EXPECT_FALSE(CanAcquire("b", 1, 1));
}

TEST(UsageBookTest, PrincipalsThatUseNothingAreForgotten) {
  UsageBook book;
  const auto kept = book.Of("kept", kNow);
  book.Of("holder", kNow)->CountLeases();
  book.Of("holder", kNow)->Granted("a", Id(1), kNow + hours(1), kNow);
  for (int i = 0; i < 5'000; ++i) book.Of(std::to_string(i), kNow);
  EXPECT_EQ(book.Of("kept", kNow), kept);
  EXPECT_FALSE(book.Of("holder", kNow)->IsIdle(kNow));
  EXPECT_LE(book.size(), 1'100U);
}

}  // namespace
}  // namespace lockkeeper::access
