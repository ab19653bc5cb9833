// SPDX-License-Identifier: Apache-2.0
//
// Leases of the client: how they are kept, lost, released and handed on.
#include "lockkeeper/lease.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lockkeeper/client.h"
#include "renewal/boot_clock.h"
#include "unit/client/client_fixture.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;

using ClientLeaseTest = ClientTest;

INSTANTIATE_TEST_SUITE_P(Ways, ClientLeaseTest, kBothWays, NameOfWay);

TEST_P(ClientLeaseTest, LeaseIsRenewedByItself) {
  Client client = NewClient();
  AcquireResult result = client.Acquire("report", {.ttl = 3s});
  ASSERT_TRUE(result);

  ASSERT_TRUE(server_.extend.WaitForCalls(2));

  EXPECT_FALSE(result->lost());
  const v1::ExtendRequest request = server_.extend.seen()[0];
  EXPECT_EQ(request.name(), "report");
  EXPECT_EQ(request.lease_id(), result->grant().lease_id);
  EXPECT_FALSE(request.has_ttl()) << "as granted";
}

TEST_P(ClientLeaseTest, EveryRenewalProvesTheLease) {
  Client client = NewClient();
  AcquireResult result = client.Acquire("report", {.ttl = 3s});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->grant().reassertion, "proof of 1");

  ASSERT_TRUE(server_.extend.WaitForCalls(2));

  const auto seen = server_.extend.seen();
  EXPECT_EQ(seen[0].reassertion(), "proof of 1");
  EXPECT_EQ(seen[1].reassertion(), "proof of 1.1") << "the newest";
  for (const v1::ExtendRequest& request : seen) EXPECT_EQ(request.fencing_token(), 1);
  EXPECT_TRUE(result->reassertion().starts_with("proof of 1."));
  EXPECT_EQ(result->grant().reassertion, "proof of 1");
}

TEST_P(ClientLeaseTest, QuarantineChangesNothingAndRenewalsGoOnHoweverLongItLasts) {
  GrantWhatIsToBeExtendedAtOnce();
  for (int i = 0; i < 3; ++i) {
    server_.extend.NextError({.code = grpc::StatusCode::UNAVAILABLE,
                              .reason = "STORE_QUARANTINED",
                              .retry_delay_ms = 3'600'000});
  }
  Client client = NewClient();
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result);
  std::promise<void> extended;
  result->OnExtended([&] { extended.set_value(); });

  extended.get_future().wait();

  EXPECT_EQ(server_.extend.seen().size(), 4u);
  EXPECT_FALSE(result->lost());
}

TEST_P(ClientLeaseTest, LossIsToldByCallbackAndStopTokenAndReleaseSaysSo) {
  GrantWhatCannotBeExtended();
  Client client = NewClient();
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result);
  std::promise<void> lost;
  result->OnLost([&] { lost.set_value(); });
  EXPECT_FALSE(result->lost());

  LoseReport();

  lost.get_future().wait();
  EXPECT_TRUE(result->lost());
  EXPECT_TRUE(result->stop_token().stop_requested());
  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kExpired);
  EXPECT_EQ(server_.release.seen().size(), 0u) << "the server has said that there is nothing left";
}

TEST_P(ClientLeaseTest, LeaseIsLostBeforeItsEndWhenExtendsAreNotAnswered) {
  server_.extend.Always([&](const support::FakeCall& call, const auto&, auto*) {
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });
  Client client = NewClient();
  const client::BootClock clock;
  const client::Instant before = clock.Now();
  AcquireResult result = client.Acquire("report", {.ttl = 3s});
  ASSERT_TRUE(result);
  std::promise<client::Instant> lost;
  result->OnLost([&] { lost.set_value(clock.Now()); });

  const auto after = lost.get_future().get() - before;

  EXPECT_GE(after, 3s - 80ms) << "not before the margin";
  EXPECT_GE(server_.extend.seen().size(), 2u) << "it tried again meanwhile";
  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased) << "it may still be live";
}

TEST_P(ClientLeaseTest, ReleaseIsRepeatedUntilAnsweredAndSafeToCallAgain) {
  Client client = NewClient();
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result);
  server_.release.Next([&](const support::FakeCall&, const auto& request, auto* response) {
    EXPECT_TRUE(server_.HonestRelease(request, response).ok());
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the reply was lost");
  });

  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased)
      << "NOT_HOLDER on a repeat of its own is done";
  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);

  EXPECT_EQ(server_.release.seen().size(), 2u);
  EXPECT_FALSE(result->lost());
  EXPECT_EQ(result->remaining(), 0s);
}

TEST_P(ClientLeaseTest, ReleaseThatIsNotAnsweredInTimeGoesOnInTheBackground) {
  Client client = NewClient({.release_timeout = 20ms});
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result);
  std::promise<void> may_answer;
  server_.release.Next(
      [&, answer = may_answer.get_future().share()](const support::FakeCall&, const auto&, auto*) {
        answer.wait();
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
      });

  EXPECT_TRUE(absl::IsDeadlineExceeded(result->Release().status()));
  may_answer.set_value();

  EXPECT_TRUE(server_.release.WaitForCalls(2));
}

TEST_P(ClientLeaseTest, MovedLeaseIsReleasedOnceAndAssigningReleasesTheFormerOne) {
  Client client = NewClient();
  Lease lease = client.Acquire("first").TakeLease();
  lease = client.Acquire("second").TakeLease();

  EXPECT_EQ(server_.HolderOf("first"), "");
  EXPECT_EQ(server_.HolderOf("second"), lease.grant().lease_id);
  Lease moved = std::move(lease);
  EXPECT_EQ(server_.HolderOf("second"), moved.grant().lease_id);
}

TEST_P(ClientLeaseTest, LeaseOutlivesItsClient) {
  GrantWhatCannotBeExtended();
  std::optional<Client> client = NewClient();
  Lease lease = client->Acquire("report").TakeLease();

  client.reset();

  std::promise<void> extended;
  lease.OnExtended([&] { extended.set_value(); });
  MendExtends();
  extended.get_future().wait();
  EXPECT_EQ(lease.Release().value(), ReleaseOutcome::kReleased);
}

TEST_P(ClientLeaseTest, LastLeaseMayGoInItsOwnCallback) {
  GrantWhatCannotBeExtended();
  std::optional<Client> client = NewClient();
  auto lease = std::make_unique<Lease>(client->Acquire("report").TakeLease());
  std::promise<void> gone;
  lease->OnLost([&] {
    lease.reset();
    gone.set_value();
  });
  client.reset();

  LoseReport();

  gone.get_future().wait();
}

// The callback releases while another thread does, which has to wait for the callback.
TEST_P(ClientLeaseTest, HolderAndItsCallbackMayReleaseAtTheSameTime) {
  GrantWhatCannotBeExtended();
  Client client = NewClient();
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result);
  std::promise<void> lost;
  std::promise<ReleaseOutcome> by_callback;
  result->OnLost([&] {
    // The holder's release drops this second callback, and what it holds, when it is under way.
    std::promise<void> released;
    const auto at_drop = [](std::promise<void>* dropped) { dropped->set_value(); };
    result->OnLost([held = std::shared_ptr<std::promise<void>>(&released, at_drop)] {});
    lost.set_value();
    released.get_future().wait();
    by_callback.set_value(result->Release().value());
  });

  LoseReport();
  lost.get_future().wait();

  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kExpired);
  EXPECT_EQ(by_callback.get_future().get(), ReleaseOutcome::kExpired);
}

TEST_P(ClientLeaseTest, ReleaseAfterThatOfACallbackWaitsForTheCallback) {
  GrantWhatCannotBeExtended();
  Client client = NewClient();
  AcquireResult result = client.Acquire("report");
  ASSERT_TRUE(result);
  std::promise<void> released;
  std::promise<void> may_return;
  std::atomic<bool> ended = false;
  result->OnLost([&, returned = may_return.get_future()] {
    result->Release().IgnoreError();
    released.set_value();
    returned.wait();
    ended = true;
  });
  LoseReport();
  released.get_future().wait();

  std::thread ending([&] { may_return.set_value(); });
  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kExpired);

  EXPECT_TRUE(ended);
  ending.join();
}

TEST_P(ClientLeaseTest, DetachedLeaseLivesOnAndCanBeAdopted) {
  Client client = NewClient();
  std::string id;
  {
    Lease lease = client.Acquire("report").TakeLease();
    id = std::move(lease).Detach();
  }
  EXPECT_EQ(server_.HolderOf("report"), id);
  server_.extend.Next([this](const support::FakeCall&, const auto& request, auto* response) {
    const grpc::Status status = server_.HonestExtend(request, response);
    response->mutable_lease()->mutable_remaining_ttl()->set_seconds(20);  // Is extended at once.
    return status;
  });

  absl::StatusOr<Lease> adopted =
      client.Adopt("report", id, {.ttl = 40s, .fencing_token = 1, .reassertion = "proof of 1"});

  ASSERT_TRUE(adopted.ok()) << adopted.status();
  EXPECT_EQ(adopted->fencing_token(), 1);
  EXPECT_GT(adopted->remaining(), 0s);
  EXPECT_LT(adopted->remaining(), 40s);
  EXPECT_EQ(adopted->grant().reassertion, "proof of 1.1") << "for whoever adopts it next";
  ASSERT_TRUE(server_.extend.WaitForCalls(2));
  EXPECT_EQ(server_.extend.seen()[1].ttl().seconds(), 40);
  for (const v1::ExtendRequest& request : server_.extend.seen()) {
    EXPECT_EQ(request.fencing_token(), 1);
    EXPECT_TRUE(request.reassertion().starts_with("proof of 1"));
  }
}

TEST_P(ClientLeaseTest, AdoptOfALeaseThatIsGoneSaysLeaseLost) {
  Client client = NewClient();

  const auto adopted = client.Adopt("report", "0123456789abcdef0123456789abcdef");

  EXPECT_EQ(ReasonOf(adopted.status()), ErrorReason::kLeaseLost);
}

TEST_P(ClientLeaseTest, ReleaseByIdSaysWhatItFound) {
  Client client = NewClient();
  const std::string id = client.Acquire("report").TakeLease().grant().lease_id;
  const std::string held = std::move(client.Acquire("report").TakeLease()).Detach();

  EXPECT_EQ(client.Release("report", id).value(), ReleaseOutcome::kNotHolder);
  EXPECT_EQ(client.Release("report", held).value(), ReleaseOutcome::kReleased);
}

TEST_P(ClientLeaseTest, ExtendAndReleaseDoNotQueueBehindWaitingAcquires) {
  server_.acquire.Always([this](const support::FakeCall& call, const auto&, auto*) {
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });
  GrantWhatCannotBeExtended();
  Client client = NewClient();
  Lease held = client.Acquire("held").TakeLease();
  std::stop_source stop;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 20; ++i) {
    waiters.emplace_back([&, i] {
      const AcquireResult result = client.Acquire(
          "busy" + std::to_string(i), {.wait_timeout = 10min, .cancel = stop.get_token()});
      EXPECT_FALSE(result);
    });
  }
  ASSERT_TRUE(server_.acquire.WaitForCalls(21));

  EXPECT_TRUE(server_.extend.WaitForCalls(server_.extend.seen().size() + 2));
  EXPECT_EQ(held.Release().value(), ReleaseOutcome::kReleased);

  stop.request_stop();
  for (std::thread& waiter : waiters) waiter.join();
}

TEST_P(ClientLeaseTest, GrantWhoseAnswerComesTooLateIsNotALease) {
  server_.acquire.Next([&](const support::FakeCall&, const auto& request, auto* response) {
    EXPECT_TRUE(server_.HonestAcquire(request, response).ok());
    response->mutable_lease()->mutable_remaining_ttl()->set_seconds(0);
    response->mutable_lease()->mutable_remaining_ttl()->set_nanos(40'000'000);
    return grpc::Status::OK;
  });
  Client client = NewClient();

  const AcquireResult result = client.Acquire("report", {.ttl = 10s});

  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  EXPECT_TRUE(server_.release.WaitForCalls(1));
}

TEST_P(ClientLeaseTest, StopMarginThatDoesNotFitTheGrantedTtlReleases) {
  Client client = NewClient();

  const AcquireResult result = client.Acquire("report", {.stop_margin = 20s});

  EXPECT_EQ(FieldOf(result.status()), "stop_margin");
  EXPECT_TRUE(server_.release.WaitForCalls(1));
}

}  // namespace
}  // namespace lockkeeper
