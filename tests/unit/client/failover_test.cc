// SPDX-License-Identifier: Apache-2.0
//
// Several daemons of one service: what the client does when the one it uses stops serving. Method:
// two services in this process, each answering as the test says.
#include <grpc/support/time.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include "lockkeeper/client.h"
#include "support/client/fake_lock_server.h"
#include "unit/client/client_fixture.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using support::FakeError;
using support::FakeLockServer;

const FakeError kDraining{grpc::StatusCode::UNAVAILABLE, "SERVER_DRAINING"};

template <typename Duration>
std::chrono::nanoseconds NanosOf(const Duration& duration) {
  return std::chrono::seconds(duration.seconds()) + std::chrono::nanoseconds(duration.nanos());
}

class FailoverTest : public testing::TestWithParam<FakeLockServer::Sessions> {
 protected:
  Client NewClient(ClientOptions options = {}) {
    options.addresses = {first_.address(), second_.address()};
    return *Client::Create(std::move(options));
  }

  // Every rpc of `server` fails with `error` from now on.
  static void Fail(FakeLockServer& server, const FakeError& error) {
    const auto fail = [error](const support::FakeCall&, const auto&, auto*) {
      return support::StatusOf(error);
    };
    server.acquire.Always(fail);
    server.extend.Always(fail);
    server.release.Always(fail);
    server.fence.Always(fail);
  }

  FakeLockServer first_{"", GetParam()};
  FakeLockServer second_{"", GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Ways, FailoverTest, kBothWays, NameOfWay);

using UnaryFailoverTest = FailoverTest;
INSTANTIATE_TEST_SUITE_P(Ways, UnaryFailoverTest,
                         testing::Values(FakeLockServer::Sessions::kUnimplemented), NameOfWay);

// A caller that stands in line until the test says that the daemon drains.
class Waiter {
 public:
  explicit Waiter(FakeLockServer& server) {
    server.acquire.Next([this](const support::FakeCall&, const auto&, auto*) {
      drained_.get_future().wait();
      return support::StatusOf(kDraining);
    });
  }

  void Drain() { drained_.set_value(); }

 private:
  std::promise<void> drained_;
};

TEST_P(FailoverTest, WaitingAcquireGoesOnInItsPlaceAtTheNextDaemonWhenItsOwnDrains) {
  Waiter waiter(first_);
  second_.acquire.Next([this](const support::FakeCall&, const auto& request, auto* response) {
    EXPECT_TRUE(second_.HonestAcquire(request, response).ok());
    response->mutable_lease()->set_offered(true);
    return grpc::Status::OK;
  });
  Client client = NewClient();
  auto acquiring = std::async(std::launch::async,
                              [&] { return client.Acquire("report", {.wait_timeout = 10min}); });
  ASSERT_TRUE(first_.acquire.WaitForCalls(1));

  waiter.Drain();
  AcquireResult result = acquiring.get();

  ASSERT_TRUE(result) << result.status();
  const v1::AcquireRequest before = first_.acquire.seen().at(0);
  const v1::AcquireRequest after = second_.acquire.seen().at(0);
  EXPECT_EQ(after.lease_id(), before.lease_id());
  EXPECT_EQ(before.attempt(), 1);
  EXPECT_EQ(after.attempt(), 2);
  EXPECT_TRUE(after.confirm());
  EXPECT_GT(NanosOf(after.wait_timeout()), 0s);
  EXPECT_LT(NanosOf(after.wait_timeout()), NanosOf(before.wait_timeout()));
  EXPECT_EQ(second_.extend.seen().size(), 1u) << "the offer is claimed where it was made";
  EXPECT_EQ(first_.extend.seen().size(), 0u);
  EXPECT_EQ(second_.HolderOf("report"), result->grant().lease_id);
}

TEST_P(FailoverTest, WhatIsUnavailableIsAskedForAtTheNextDaemonWhichIsThenKeptTo) {
  for (const char* reason : {"SERVER_DRAINING", "STORE_UNAVAILABLE", "OUTCOME_UNKNOWN",
                             "STORE_QUARANTINED", "QUORUM_NOT_REACHED", ""}) {
    Fail(first_, {grpc::StatusCode::UNAVAILABLE, reason, "made by the test", "", 10});
    const size_t asked_before = first_.acquire.seen().size();
    Client client = NewClient();

    for (int i = 0; i < 3; ++i) {
      AcquireResult result = client.Acquire("report");
      ASSERT_TRUE(result) << reason << ": " << result.status();
      EXPECT_EQ(second_.acquire.seen().back().attempt(), i == 0 ? 2 : 1);
    }

    EXPECT_EQ(first_.acquire.seen().size(), asked_before + 1) << "one try was enough to learn it";
    EXPECT_EQ(first_.release.seen().size(), 0u);
  }
}

TEST_P(FailoverTest, ComesBackToTheFirstWhenTheSecondStops) {
  first_.acquire.NextError(kDraining);
  second_.acquire.Next([this](const support::FakeCall&, const auto& request, auto* response) {
    return second_.HonestAcquire(request, response);
  });
  second_.acquire.NextError(kDraining);
  Client client = NewClient();

  static_cast<void>(client.Acquire("report"));
  AcquireResult again = client.Acquire("report");

  ASSERT_TRUE(again) << again.status();
  EXPECT_EQ(first_.HolderOf("report"), again->grant().lease_id);
}

TEST_P(FailoverTest, RenewalGoesOnAtTheNextDaemon) {
  first_.extend.Always([](const support::FakeCall&, const auto&, auto*) {
    return support::StatusOf({grpc::StatusCode::UNAVAILABLE, "STORE_UNAVAILABLE"});
  });
  second_.extend.Always([](const support::FakeCall&, const auto&, auto* response) {
    response->mutable_lease()->mutable_remaining_ttl()->set_seconds(3);
    return grpc::Status::OK;
  });
  Client client = NewClient();
  AcquireResult result = client.Acquire("report", {.ttl = 3s});
  ASSERT_TRUE(result);

  ASSERT_TRUE(second_.extend.WaitForCalls(2));

  EXPECT_FALSE(result->lost());
  EXPECT_EQ(second_.extend.seen()[0].lease_id(), result->grant().lease_id);
  EXPECT_EQ(first_.extend.seen().size(), 1u);
}

TEST_P(FailoverTest, ReleaseGoesOnAtTheNextDaemon) {
  Client client = NewClient();
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result);
  Fail(first_, kDraining);
  second_.release.Always([](const support::FakeCall&, const auto&, auto* response) {
    response->set_released(true);
    return grpc::Status::OK;
  });

  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);

  EXPECT_EQ(second_.release.seen().at(0).lease_id(), result->grant().lease_id);
}

// What gRPC answers for a server that ends with the call in its hands.
TEST_P(FailoverTest, CallThatIsCutOffWithoutOurCancelIsMadeAgain) {
  Fail(first_, {grpc::StatusCode::CANCELLED, ""});
  Client client = NewClient();
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result) << result.status();
  EXPECT_EQ(second_.acquire.seen().at(0).attempt(), 2);

  Fail(second_, {grpc::StatusCode::CANCELLED, ""});
  first_.release.Always([](const support::FakeCall&, const auto&, auto* response) {
    response->set_released(true);
    return grpc::Status::OK;
  });
  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
}

TEST_P(FailoverTest, OneAddressIsTriedAgain) {
  first_.acquire.NextError(kDraining);
  first_.acquire.NextError({grpc::StatusCode::UNAVAILABLE, "STORE_UNAVAILABLE"});
  Client client = *Client::Create({.addresses = {first_.address()}});

  AcquireResult result = client.Acquire("report", {.wait_timeout = 1min});

  ASSERT_TRUE(result) << result.status();
  EXPECT_EQ(first_.acquire.seen().back().attempt(), 3);
}

// What keeps and ends leases must not queue behind acquires that stand in line.
TEST_P(UnaryFailoverTest, ExtendAndReleaseHaveAConnectionOfTheirOwn) {
  Client client = NewClient();
  AcquireResult result = client.Acquire("report", {.ttl = 3s});
  ASSERT_TRUE(result);
  ASSERT_TRUE(first_.extend.WaitForCalls(1));
  ASSERT_TRUE(result->Release().ok());

  const std::string keeps = first_.extend.peers().at(0);
  EXPECT_NE(first_.acquire.peers().at(0), keeps);
  EXPECT_EQ(first_.release.peers().at(0), keeps);
}

TEST_P(FailoverTest, OfferThatLapsedIsWaitedForAgainAtTheSameDaemon) {
  for (int i = 0; i < 2; ++i) {
    first_.acquire.Next([this](const support::FakeCall&, const auto& request, auto* response) {
      EXPECT_TRUE(first_.HonestAcquire(request, response).ok());
      response->mutable_lease()->set_offered(true);
      return grpc::Status::OK;
    });
  }
  first_.extend.NextError({grpc::StatusCode::FAILED_PRECONDITION, "LEASE_LOST"});
  Client client = NewClient();

  AcquireResult result = client.Acquire("report", {.wait_timeout = 10min});

  ASSERT_TRUE(result) << result.status();
  const auto seen = first_.acquire.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].lease_id(), seen[0].lease_id());
  EXPECT_EQ(seen[1].attempt(), 2);
  EXPECT_LT(NanosOf(seen[1].wait_timeout()), NanosOf(seen[0].wait_timeout()));
  EXPECT_EQ(second_.acquire.seen().size(), 0u);
}

TEST_P(UnaryFailoverTest, DeadlineOfATryThatWaitsLeavesTimeForItsAnswer) {
  int64_t left_ms = 0;
  first_.acquire.Next([&](const support::FakeCall& call, const auto& request, auto* response) {
    const gpr_timespec deadline = call.context.raw_deadline();
    left_ms = gpr_time_to_millis(gpr_time_sub(deadline, gpr_now(deadline.clock_type)));
    return first_.HonestAcquire(request, response);
  });
  Client client = NewClient({.call_timeout = 10s});

  ASSERT_TRUE(client.Acquire("report", {.wait_timeout = 10min}));

  EXPECT_GT(left_ms, 600'000);
  EXPECT_LE(left_ms, 610'000);
}

}  // namespace
}  // namespace lockkeeper
