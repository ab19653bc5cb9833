// SPDX-License-Identifier: Apache-2.0
// Who gets the lock next: whoever has stood in line longest, at whatever daemon.
#include <gmock/gmock.h>

#include "integration/waiting/fixture.h"

namespace lockkeeper {
namespace {

using OrderTest = WaitingTest;

TEST_F(OrderTest, WaitersOfTwoDaemonsAreServedInTheOrderOfTheirArrival) {
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  std::vector<std::unique_ptr<WaitingCall>> line;
  for (int place = 1; place <= 6; ++place) {
    line.push_back(StandInLine(place % 2 == 0 ? first : second, 10 + place, place));
  }

  int holder = 1;
  int64_t last_token = 0;
  for (int next = 0; next < 6; ++next) {
    EXPECT_FALSE(line[next]->IsAnswered());
    Release(first, "n", holder);
    holder = 11 + next;
    ASSERT_TRUE(line[next]->response().has_lease()) << line[next]->status().error_message();
    const v1::Lease& lease = line[next]->lease();
    EXPECT_EQ(lease.lease_id(), Id(holder));
    EXPECT_GT(lease.fencing_token(), last_token);
    EXPECT_GT(lease.waited().seconds() + lease.waited().nanos(), 0);
    EXPECT_FALSE(lease.offered());
    EXPECT_FALSE(lease.previous_lease_expired());
    last_token = lease.fencing_token();
  }
  Release(first, "n", holder);
  EXPECT_TRUE(LineIsGone());
}

TEST_F(OrderTest, NobodyComesInBetween) {
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  const auto waiter = StandInLine(second, 2, 1);
  v1::AcquireRequest barging = Request("n", 3);
  barging.clear_wait_timeout();

  const auto before = first.client->Acquire(barging).response.contention();
  Release(first, "n", 1);
  const auto after = first.client->Acquire(barging).response.contention();

  EXPECT_EQ(before.reason(), v1::CONTENTION_REASON_HELD);
  EXPECT_EQ(before.waiters(), 1);
  EXPECT_EQ(after.reason(), v1::CONTENTION_REASON_HELD);
  EXPECT_TRUE(waiter->response().has_lease());
}

// Messages that were lost would cost up to a second each.
TEST_F(OrderTest, ReleaseWakesTheNextWaiterAtTheOtherDaemon) {
  constexpr int kHandOvers = 100;
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  const auto begin = std::chrono::steady_clock::now();

  for (int holder = 1; holder <= kHandOvers; ++holder) {
    Replica& of_holder = holder % 2 == 1 ? first : second;
    Replica& of_waiter = holder % 2 == 1 ? second : first;
    const auto waiter = StandInLine(of_waiter, holder + 1, 1);
    Release(of_holder, "n", holder);
    ASSERT_TRUE(waiter->response().has_lease()) << waiter->status().error_message();
  }

  EXPECT_LT(std::chrono::steady_clock::now() - begin, kHandOvers * milliseconds(300));
}

TEST_F(OrderTest, LeaseThatExpiresIsHandedOver) {
  Replica first(redis_), second(redis_);
  v1::AcquireRequest forgotten = Request("n", 1);
  forgotten.mutable_ttl()->set_seconds(1);
  ASSERT_TRUE(first.client->Acquire(forgotten).response.has_lease());

  WaitingCall waiter(*second.client, Request("n", 2));

  ASSERT_TRUE(waiter.response().has_lease()) << waiter.status().error_message();
  EXPECT_TRUE(waiter.lease().previous_lease_expired());
}

TEST_F(OrderTest, ForcedReleaseHandsOverAtOnceIfTold) {
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  const auto next = StandInLine(second, 2, 1);
  const auto later = StandInLine(first, 3, 2);

  const auto forced = ForceRelease(first, true);

  EXPECT_TRUE(forced.released());
  ASSERT_TRUE(next->response().has_lease()) << next->status().error_message();
  EXPECT_GT(next->lease().fencing_token(), forced.fencing_token());
  EXPECT_TRUE(next->lease().previous_lease_expired());
  EXPECT_EQ(first.client->Extend(support::ExtendOf("n", Id(1))).reason, "LEASE_LOST");
  EXPECT_FALSE(later->IsAnswered());
}

TEST_F(OrderTest, ForcedReleaseHandsOverWhenTheHoldersTimeIsUp) {
  Replica first(redis_), second(redis_);
  v1::AcquireRequest held = Request("n", 1);
  held.mutable_ttl()->set_seconds(3);
  ASSERT_TRUE(first.client->Acquire(held).response.has_lease());
  const auto waiter = StandInLine(second, 2, 1);

  const auto forced = ForceRelease(first, false);

  EXPECT_TRUE(forced.released());
  ASSERT_TRUE(waiter->response().has_lease()) << waiter->status().error_message();
  EXPECT_GT(waiter->lease().fencing_token(), forced.fencing_token());
  EXPECT_TRUE(waiter->lease().previous_lease_expired());
}

TEST_F(OrderTest, AdministratorsSeeTheLine) {
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  Hold(first, "m", 2);
  const auto waiter = StandInLine(second, 3, 1);
  const auto another = StandInLine(second, 4, 2);

  const auto listed = first.client->ListLocks().response;

  ASSERT_EQ(listed.locks_size(), 2);
  for (const auto& lock : listed.locks()) EXPECT_EQ(lock.waiters(), lock.name() == "n" ? 2 : 0);
}

}  // namespace
}  // namespace lockkeeper
