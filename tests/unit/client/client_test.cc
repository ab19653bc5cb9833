// SPDX-License-Identifier: Apache-2.0
//
// The client's calls, against a service in this process whose answers the test chooses.
#include "lockkeeper/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/client/fake_lock_server.h"
#include "unit/client/client_fixture.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using support::FakeLockServer;

INSTANTIATE_TEST_SUITE_P(Ways, ClientTest, kBothWays, NameOfWay);

TEST_P(ClientTest, GrantedLeaseIsHeldUntilTheObjectGoes) {
  Client client = NewClient({.owner = "unit test"});
  {
    AcquireResult result = client.Acquire("report", {.ttl = 20s, .labels = {{"k", "v"}}});
    ASSERT_TRUE(result) << result.status();
    EXPECT_TRUE(result.status().ok());
    EXPECT_EQ(result->fencing_token(), 1);
    EXPECT_EQ(result->grant().name, "report");
    EXPECT_EQ(result->grant().ttl, 20s);
    EXPECT_LE(result->remaining(), 20s - 250ms);
    EXPECT_GT(result->remaining(), 10s);
    EXPECT_FALSE(result->lost());
    EXPECT_EQ(server_.HolderOf("report"), result->grant().lease_id);
  }
  EXPECT_EQ(server_.HolderOf("report"), "");
  const v1::AcquireRequest request = server_.acquire.seen().at(0);
  EXPECT_EQ(request.owner(), "unit test");
  EXPECT_EQ(request.attempt(), 1);
  EXPECT_EQ(request.labels().at("k"), "v");
}

TEST_P(ClientTest, EachAcquireHasANewLeaseIdOf128Bits) {
  Client client = NewClient();
  std::set<std::string> ids;
  for (int i = 0; i < 50; ++i) {
    AcquireResult result = client.Acquire("report");
    ASSERT_TRUE(result);
    ids.insert(result->grant().lease_id);
  }
  EXPECT_EQ(ids.size(), 50u);
  for (const std::string& id : ids) {
    EXPECT_EQ(id.size(), 32u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST_P(ClientTest, ContentionIsNeitherALeaseNorOk) {
  Client client = NewClient({.owner = "first"});
  AcquireResult first = client.Acquire("report");
  ASSERT_TRUE(first);

  AcquireResult second = client.Acquire("report");

  EXPECT_FALSE(second);
  EXPECT_TRUE(absl::IsAborted(second.status()));
  EXPECT_EQ(ReasonOf(second.status()), ErrorReason::kNotAcquired);
  ASSERT_TRUE(second.contention().has_value());
  EXPECT_EQ(second.contention()->holder_owner, "first");
  EXPECT_EQ(second.contention()->reason, ContentionReason::kHeld);
  EXPECT_EQ(second.contention()->remaining_ttl, 30s);
}

TEST_P(ClientTest, ClosedLockIsSaidToBeHeldByNobody) {
  server_.acquire.Next([](const support::FakeCall&, const auto&, auto* response) {
    response->mutable_contention()->set_reason(v1::CONTENTION_REASON_CLOSED);
    return grpc::Status::OK;
  });
  Client client = NewClient();

  AcquireResult result = client.Acquire("report");

  ASSERT_TRUE(result.contention().has_value());
  EXPECT_EQ(result.contention()->reason, ContentionReason::kClosed);
  EXPECT_EQ(result.status().message(),
            "nobody holds `report`, but it is closed after its last lease");
}

TEST_P(ClientTest, DroppedResultReleasesTheLock) {
  Client client = NewClient();

  static_cast<void>(client.Acquire("report"));

  EXPECT_EQ(server_.HolderOf("report"), "");
}

TEST_P(ClientTest, LostReplyIsRepeatedWithTheSameLeaseIdAndTheNextAttempt) {
  server_.acquire.Next([&](const support::FakeCall&, const auto& request, auto* response) {
    EXPECT_TRUE(server_.HonestAcquire(request, response).ok());
    return support::StatusOf({grpc::StatusCode::UNAVAILABLE, "OUTCOME_UNKNOWN"});
  });
  Client client = NewClient();

  AcquireResult result = client.Acquire("report");

  ASSERT_TRUE(result) << result.status();
  const auto seen = server_.acquire.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].lease_id(), seen[1].lease_id());
  EXPECT_EQ(seen[0].attempt(), 1);
  EXPECT_EQ(seen[1].attempt(), 2);
  EXPECT_EQ(server_.release.seen().size(), 0u);
}

TEST_P(ClientTest, AcquireWithoutAnswerIsReleasedInTheBackground) {
  server_.acquire.Always([&](const support::FakeCall& call, const auto& request, auto* response) {
    EXPECT_TRUE(server_.HonestAcquire(request, response).ok());
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });
  Client client = NewClient({.call_timeout = 2s});

  AcquireResult result = client.Acquire("report");

  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  ASSERT_TRUE(server_.release.WaitForCalls(1));
  EXPECT_EQ(server_.release.seen()[0].lease_id(), server_.acquire.seen()[0].lease_id());
}

TEST_P(ClientTest, AcquireWithTheCallersOwnLeaseIdIsLeftToTheCaller) {
  const std::string id = "0123456789abcdef0123456789abcdef";
  server_.acquire.Always([](const support::FakeCall&, const auto&, auto*) {
    return support::StatusOf({grpc::StatusCode::UNAVAILABLE, "OUTCOME_UNKNOWN"});
  });
  {
    Client client = NewClient({.call_timeout = 2s});
    AcquireResult result = client.Acquire("report", {.lease_id = id});
    EXPECT_EQ(ReasonOf(result.status()), ErrorReason::kOutcomeUnknown);
  }
  EXPECT_EQ(server_.acquire.seen()[0].lease_id(), id);
  EXPECT_EQ(server_.release.seen().size(), 0u);
}

TEST_P(ClientTest, CancelEndsAnAcquireThatWaits) {
  server_.acquire.Always([&](const support::FakeCall& call, const auto&, auto*) {
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });
  Client client = NewClient();
  std::stop_source stop;
  std::thread cancelling([&] {
    EXPECT_TRUE(server_.acquire.WaitForCalls(1));
    stop.request_stop();
  });

  AcquireResult result =
      client.Acquire("report", {.wait_timeout = 10min, .cancel = stop.get_token()});

  cancelling.join();
  EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
  EXPECT_TRUE(server_.release.WaitForCalls(1)) << "it may stand in line";
}

TEST_P(ClientTest, ErrorOfTheServerKeepsItsReasonAndField) {
  server_.acquire.NextError({.code = grpc::StatusCode::INVALID_ARGUMENT,
                             .reason = "INVALID_FIELD",
                             .message = "ttl: at most 1 min",
                             .field = "ttl"});
  Client client = NewClient();

  AcquireResult result = client.Acquire("report", {.ttl = 24h});

  EXPECT_FALSE(result.contention().has_value());
  EXPECT_EQ(ReasonOf(result.status()), ErrorReason::kInvalidField);
  EXPECT_EQ(FieldOf(result.status()), "ttl");
  EXPECT_EQ(result.status().message(), "ttl: at most 1 min");
}

TEST_P(ClientTest, FenceAdmitsOnlyWhatTheServerAdmits) {
  server_.fence.Next([](const support::FakeCall&, const auto& request, auto* response) {
    EXPECT_EQ(request.fencing_token(), 7);
    EXPECT_TRUE(request.require_live_lease());
    response->set_verdict(v1::VERDICT_ADMITTED);
    response->set_newest_fencing_token(7);
    return grpc::Status::OK;
  });
  Client client = NewClient();

  const auto admitted = client.Fence("report", 7, {.require_live_lease = true});
  const auto unknown = client.Fence("report", 7);

  EXPECT_TRUE(admitted->admitted());
  EXPECT_EQ(admitted->newest_fencing_token, 7);
  EXPECT_FALSE(unknown->admitted());
  EXPECT_EQ(unknown->verdict, Verdict::kUnknownToken);
}

TEST_P(ClientTest, FenceWithoutAnswerIsAnError) {
  server_.fence.Always([](const support::FakeCall&, const auto&, auto*) {
    return support::StatusOf({grpc::StatusCode::UNAVAILABLE, "STORE_UNAVAILABLE"});
  });
  Client client = NewClient({.call_timeout = 2s});

  EXPECT_EQ(ReasonOf(client.Fence("report", 1).status()), ErrorReason::kStoreUnavailable);
}

TEST_P(ClientTest, CallWhoseLastTryHasNoAnswerTellsWhatTheOneBeforeWasAnswered) {
  const auto refuse_once = [this](auto& rpc) {
    rpc.NextError({.code = grpc::StatusCode::UNAVAILABLE,
                   .reason = "STORE_UNAVAILABLE",
                   .message = "NOREPLICAS"});
    rpc.Always([this](const support::FakeCall& call, const auto&, auto*) {
      server_.UntilCancelled(call);
      return grpc::Status::CANCELLED;
    });
  };
  refuse_once(server_.fence);
  refuse_once(server_.extend);
  refuse_once(server_.acquire);
  refuse_once(server_.release);
  Client client = NewClient({.call_timeout = 500ms});
  const std::string lease_id = "0123456789abcdef0123456789abcdef";

  // The acquire last, because what it may have got is released in the background.
  for (const absl::Status& status :
       {client.Fence("report", 1).status(), client.Adopt("report", lease_id).status(),
        client.Release("report", lease_id).status(), client.Acquire("report").status()}) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_EQ(ReasonOf(status), std::nullopt);
    EXPECT_NE(status.message().find("; before that: NOREPLICAS (STORE_UNAVAILABLE)"),
              std::string::npos)
        << status;
  }
}

TEST_P(ClientTest, NextAddressIsTriedWhenOneIsDrainingOrAway) {
  FakeLockServer draining;
  draining.acquire.Always([](const support::FakeCall&, const auto&, auto*) {
    return support::StatusOf({grpc::StatusCode::UNAVAILABLE, "SERVER_DRAINING"});
  });
  Client client =
      *Client::Create({.addresses = {"127.0.0.1:1", draining.address(), server_.address()}});

  AcquireResult result = client.Acquire("report");

  ASSERT_TRUE(result) << result.status();
  EXPECT_EQ(draining.acquire.seen().size(), 1u);
  EXPECT_EQ(draining.acquire.seen()[0].lease_id(), result->grant().lease_id);
  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
}

TEST_P(ClientTest, UnixSocketIsAnAddress) {
  const std::string path = testing::TempDir() + "lk" + std::to_string(getpid()) + ".sock";
  {
    FakeLockServer server(path);
    Client client = *Client::Create({.addresses = {server.address()}});
    EXPECT_TRUE(client.Acquire("report"));
  }
  unlink(path.c_str());
}

TEST_P(ClientTest, ServerThatIsAwayIsUnavailable) {
  Client client =
      *Client::Create({.addresses = {"127.0.0.1:1"}, .call_timeout = 2s, .release_timeout = 1ms});

  EXPECT_TRUE(absl::IsUnavailable(client.Acquire("report").status()));
}

TEST_P(ClientTest, WithLockRunsTheWorkUnderTheLockAndReleases) {
  Client client = NewClient();

  const absl::Status done = client.WithLock("report", {}, [&](Lease& lease) {
    EXPECT_EQ(server_.HolderOf("report"), lease.grant().lease_id);
    return absl::OkStatus();
  });

  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(server_.HolderOf("report"), "");
}

TEST_P(ClientTest, WithLockReturnsTheErrorOfTheWork) {
  Client client = NewClient();
  server_.release.Always([](const support::FakeCall&, const auto&, auto*) {
    return support::StatusOf({grpc::StatusCode::INTERNAL, "INVARIANT_VIOLATED"});
  });

  const absl::Status done =
      client.WithLock("report", {}, [](Lease&) { return absl::NotFoundError("the work's own"); });

  EXPECT_EQ(done, absl::NotFoundError("the work's own"));
}

TEST_P(ClientTest, WithLockDoesNotRunTheWorkWithoutTheLock) {
  Client client = NewClient();
  Lease other = client.Acquire("report").TakeLease();

  const absl::Status done = client.WithLock("report", {}, [](Lease&) {
    ADD_FAILURE() << "ran without the lock";
    return absl::OkStatus();
  });

  EXPECT_EQ(ReasonOf(done), ErrorReason::kNotAcquired);
}

TEST_P(ClientTest, WithLockSaysWhenTheLeaseWasLostDuringTheWork) {
  GrantWhatCannotBeExtended();
  Client client = NewClient();

  const absl::Status done = client.WithLock("report", {}, [&](Lease& lease) {
    std::promise<void> lost;
    lease.OnLost([&] { lost.set_value(); });
    LoseReport();
    lost.get_future().wait();
    return absl::OkStatus();
  });

  EXPECT_EQ(ReasonOf(done), ErrorReason::kLeaseLost);
}

TEST_P(ClientTest, WithLockReleasesWhenTheWorkThrows) {
  Client client = NewClient();
  const auto work = [](Lease&) -> absl::Status { throw std::runtime_error("the work's own"); };

  EXPECT_THROW(client.WithLock("report", {}, work).IgnoreError(), std::runtime_error);

  EXPECT_EQ(server_.HolderOf("report"), "");
}

TEST(ClientOptionsTest, WhatTheClientChecksIsRefusedByName) {
  struct Case {
    ClientOptions options;
    const char* field;
  };
  for (const Case& each :
       {Case{{.addresses = {}}, "addresses"}, Case{{.addresses = {"localhost"}}, "addresses"},
        Case{{.addresses = std::vector<std::string>(17, "localhost:1")}, "addresses"},
        Case{{.call_timeout = 0ms}, "call_timeout"},
        Case{{.release_timeout = -1ms}, "release_timeout"}}) {
    const auto client = Client::Create(each.options);
    EXPECT_EQ(FieldOf(client.status()), each.field) << client.status();
  }
}

TEST_P(ClientTest, OptionsOfAnAcquireThatCannotWorkAreRefusedBeforeItIsSent) {
  Client client = NewClient();
  for (const AcquireOptions& options :
       {AcquireOptions{.ttl = 10s, .stop_margin = 7s}, AcquireOptions{.stop_margin = -1ms},
        AcquireOptions{.wait_timeout = -1ms}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(client.Acquire("report", options).status()));
  }
  EXPECT_EQ(server_.acquire.seen().size(), 0u);
}

}  // namespace
}  // namespace lockkeeper
