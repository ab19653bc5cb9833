// SPDX-License-Identifier: Apache-2.0
// A daemon that stops keeps no waiter waiting, and loses none its place.
#include <gmock/gmock.h>

#include <csignal>

#include "integration/waiting/fixture.h"

namespace lockkeeper {
namespace {

using DrainTest = WaitingTest;

v1::AcquireRequest NextAttempt(v1::AcquireRequest request) {
  request.set_attempt(request.attempt() + 1);
  return request;
}

TEST_F(DrainTest, WaitersHearOfItAndTheDaemonDoesNotWaitForThem) {
  Replica replica(redis_);
  Hold(replica, "n", 1);
  const auto first = StandInLine(replica, 2, 1);
  const auto second = StandInLine(replica, 3, 2);
  const auto begin = std::chrono::steady_clock::now();

  replica.daemon.Signal(SIGTERM);

  EXPECT_EQ(first->reason(), "SERVER_DRAINING");
  EXPECT_EQ(second->reason(), "SERVER_DRAINING");
  EXPECT_EQ(replica.daemon.ExitCode(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(10)) << "drain.timeout is 20 s";
  EXPECT_THAT(replica.daemon.Stderr(), testing::HasSubstr("event=daemon.drained"));
}

TEST_F(DrainTest, RetryElsewhereResumesThePlace) {
  Replica draining(redis_), other(redis_);
  Hold(other, "n", 1);
  const auto first = StandInLine(draining, 2, 1);
  const auto second = StandInLine(other, 3, 2);
  draining.daemon.Signal(SIGTERM);
  ASSERT_EQ(first->reason(), "SERVER_DRAINING");

  WaitingCall again(*other.client, NextAttempt(Request("n", 2)));
  ASSERT_TRUE(WaitForWaiters(other, 2));
  const auto third = StandInLine(other, 4, 3);
  Release(other, "n", 1);

  ASSERT_TRUE(again.response().has_lease()) << again.status().error_message();
  EXPECT_FALSE(second->IsAnswered()) << "it came later";
  Release(other, "n", 2);
  ASSERT_TRUE(second->response().has_lease()) << second->status().error_message();
  EXPECT_FALSE(third->IsAnswered());
}

TEST_F(DrainTest, WaitersOfADrainedDaemonDelayNobody) {
  constexpr int kDrained = 30;
  Replica draining(redis_), other(redis_);
  Hold(other, "n", 1);
  std::vector<std::unique_ptr<WaitingCall>> drained;
  for (int i = 1; i <= kDrained; ++i) {
    drained.push_back(std::make_unique<WaitingCall>(*draining.client, Request("n", 100 + i)));
  }
  ASSERT_TRUE(WaitForWaiters(other, kDrained));
  const auto waiter = StandInLine(other, 2, kDrained + 1);
  draining.daemon.Signal(SIGTERM);
  for (const auto& call : drained) ASSERT_EQ(call->reason(), "SERVER_DRAINING");
  const auto begin = std::chrono::steady_clock::now();

  Release(other, "n", 1);

  ASSERT_TRUE(waiter->response().has_lease()) << waiter->status().error_message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(10)) << "an offer takes a second";
}

}  // namespace
}  // namespace lockkeeper
