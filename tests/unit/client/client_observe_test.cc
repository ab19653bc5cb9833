// SPDX-License-Identifier: Apache-2.0
//
// Observers of a client, over gRPC: the stream, the looks, and their ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockkeeper/client.h"
#include "support/client/fake_lock_server.h"
#include "support/mailbox.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using admin::v1::LOCK_EVENT_KIND_EXPIRED;
using admin::v1::LOCK_EVENT_KIND_GRANTED;
using admin::v1::LOCK_EVENT_KIND_STARTED;
using support::FakeCall;
using support::FakeLockServer;
using testing::Each;
using testing::Eq;
using testing::Optional;

class ClientObserveTest : public testing::Test {
 protected:
  using Change = std::optional<Leader>;

  LeaderObserver Observe(Client& client) {
    auto observer = client.Observe(
        "report", {.on_change = [this](const Change& leader) { changes_.Put(leader); },
                   .on_error = [this](const absl::Status& error) { errors_.Put(error); }});
    EXPECT_TRUE(observer.ok()) << observer.status();
    return *std::move(observer);
  }

  // The token of the next change; 0: nobody leads.
  std::optional<int64_t> NextLeader() {
    const std::optional<Change> change = changes_.Take();
    if (!change) return std::nullopt;
    return *change ? (*change)->fencing_token : 0;
  }

  static void AnswerNothing(FakeLockServer& server) {
    server.get_lock.Always([&server](const FakeCall& call, const auto&, auto*) {
      server.UntilCancelled(call);
      return grpc::Status::CANCELLED;
    });
  }

  support::Mailbox<Change> changes_;
  support::Mailbox<absl::Status> errors_;
  FakeLockServer first_;
  FakeLockServer second_;
  Client client_ = *Client::Create({.addresses = {first_.address(), second_.address()}});
};

TEST_F(ClientObserveTest, LeaderIsToldWithEachChange) {
  AcquireResult held = client_.Acquire("report", {.owner = "alice"});
  ASSERT_TRUE(held);
  const LeaderObserver observer = Observe(client_);
  ASSERT_TRUE(first_.watches.WaitForOpened(1));
  EXPECT_EQ(first_.watches.seen()[0].name(), "report");
  EXPECT_EQ(first_.watches.seen()[0].prefix(), "");
  EXPECT_EQ(observer.leader(), std::nullopt);

  first_.watches.Say(LOCK_EVENT_KIND_STARTED);

  const int64_t term = held->fencing_token();
  const Leader alice{.fencing_token = term, .owner = "alice"};
  EXPECT_THAT(changes_.Take(), Optional(Optional(alice)));
  EXPECT_EQ(first_.get_lock.seen().at(0).name(), "report");
  EXPECT_EQ(observer.leader(), alice);
  first_.watches.Say(LOCK_EVENT_KIND_EXPIRED, term);
  EXPECT_EQ(NextLeader(), 0);
  first_.watches.Say(LOCK_EVENT_KIND_GRANTED, term + 1, "bob");
  EXPECT_THAT(changes_.Take(),
              Optional(Optional(Leader{.fencing_token = term + 1, .owner = "bob"})));
  EXPECT_TRUE(errors_.Empty());
}

TEST_F(ClientObserveTest, StreamThatEndsIsAnErrorAndAllGoesOnAtTheNextAddress) {
  const LeaderObserver observer = Observe(client_);
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  first_.watches.Say(LOCK_EVENT_KIND_GRANTED, 5, "alice");
  EXPECT_EQ(NextLeader(), 5);

  first_.watches.End(grpc::Status::OK);

  const auto error = errors_.Take();
  ASSERT_TRUE(error);
  EXPECT_TRUE(absl::IsUnavailable(*error)) << *error;
  EXPECT_THAT(std::string(error->message()), testing::HasSubstr(first_.address()));
  ASSERT_TRUE(second_.watches.WaitForOpen(1));
  EXPECT_EQ(observer.leader()->fencing_token, 5) << "it stays as it is";
  second_.watches.Say(LOCK_EVENT_KIND_GRANTED, 6, "bob");
  EXPECT_EQ(NextLeader(), 6);
  ASSERT_TRUE(client_.Acquire("other"));
  EXPECT_EQ(first_.acquire.seen().size(), 0u);
}

TEST_F(ClientObserveTest, ServerThatStopsIsLeftForTheNextOne) {
  auto stops = std::make_unique<FakeLockServer>();
  Client client = *Client::Create({.addresses = {stops->address(), second_.address()}});
  const LeaderObserver observer = Observe(client);
  ASSERT_TRUE(stops->watches.WaitForOpen(1));

  stops.reset();

  ASSERT_TRUE(second_.watches.WaitForOpen(1));
  EXPECT_THAT(errors_.Take(), Optional(testing::Truly(absl::IsUnavailable)));
}

TEST_F(ClientObserveTest, LookThatIsNotAnsweredIn3SecondsIsAnErrorOfTheConnection) {
  AnswerNothing(first_);
  const LeaderObserver observer = Observe(client_);
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  first_.watches.Say(LOCK_EVENT_KIND_STARTED);

  EXPECT_THAT(errors_.Take(), Optional(testing::Truly(absl::IsDeadlineExceeded)));

  ASSERT_TRUE(second_.watches.WaitForOpen(1));
  EXPECT_TRUE(first_.watches.WaitForOpen(0)) << "its stream is cancelled";
}

TEST_F(ClientObserveTest, RefusalIsToldWithItsReasonAndTheClientStays) {
  first_.watches.EndAll(
      support::StatusOf({grpc::StatusCode::PERMISSION_DENIED, "PERMISSION_DENIED"}));
  const LeaderObserver observer = Observe(client_);

  const auto error = errors_.Take();
  ASSERT_TRUE(error);
  EXPECT_EQ(ReasonOf(*error), ErrorReason::kPermissionDenied);
  ASSERT_TRUE(second_.watches.WaitForOpen(1));
  ASSERT_TRUE(client_.Acquire("other"));
  EXPECT_EQ(second_.acquire.seen().size(), 0u);
}

// A proxy that lets only the LockService through, or an old server.
TEST_F(ClientObserveTest, ServerThatCannotBeWatchedIsStillGoodForLocks) {
  first_.watches.EndAll({grpc::StatusCode::UNIMPLEMENTED, "no such rpc"});
  const LeaderObserver observer = Observe(client_);

  EXPECT_THAT(errors_.Take(), Optional(testing::Truly(absl::IsUnimplemented)));
  ASSERT_TRUE(second_.watches.WaitForOpen(1));
  ASSERT_TRUE(client_.Acquire("other"));
  EXPECT_EQ(second_.acquire.seen().size(), 0u);
}

TEST_F(ClientObserveTest, TokenIsShownWithTheWatchAndTheLook) {
  const support::TemporaryDirectory directory;
  const std::string path = directory.Path("token");
  std::ofstream(path) << "secret\n";
  Client client = *Client::Create({.addresses = {first_.address()}, .token_file = path});
  support::Mailbox<std::string> shown;
  first_.get_lock.Always([&](const FakeCall& call, const auto&, auto*) {
    const auto found = call.context.client_metadata().find("authorization");
    const bool is_there = found != call.context.client_metadata().end();
    shown.Put(is_there ? std::string(found->second.data(), found->second.size()) : "");
    return grpc::Status::OK;
  });
  const LeaderObserver observer = Observe(client);
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  first_.watches.Say(LOCK_EVENT_KIND_STARTED);

  EXPECT_THAT(shown.Take(), Optional(Eq("Bearer secret")));
  EXPECT_THAT(first_.watches.authorizations(), Each(Eq("Bearer secret")));
}

TEST_F(ClientObserveTest, ObserverMayOutliveItsClient) {
  std::optional<Client> client = *Client::Create({.addresses = {first_.address()}});
  const LeaderObserver observer = Observe(*client);
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  client.reset();
  first_.watches.Say(LOCK_EVENT_KIND_GRANTED, 5, "alice");
  EXPECT_EQ(NextLeader(), 5);
}

TEST_F(ClientObserveTest, EmptyNameIsRefused) {
  EXPECT_THAT(FieldOf(client_.Observe("", {}).status()), Optional(Eq("name")));
}

// In each of these an observer is closed and destroyed, and nothing is left at the server.
class ClosedObserverTest : public ClientObserveTest {
 protected:
  void TearDown() override {
    observer_->Close();
    observer_.reset();
    EXPECT_TRUE(first_.watches.WaitForOpen(0));
    EXPECT_TRUE(changes_.Empty());
    EXPECT_TRUE(errors_.Empty());
  }

  std::optional<LeaderObserver> observer_ = Observe(client_);
};

TEST_F(ClosedObserverTest, AtOnce) {}

TEST_F(ClosedObserverTest, BeforeTheWatchStarts) { ASSERT_TRUE(first_.watches.WaitForOpen(1)); }

TEST_F(ClosedObserverTest, DuringALook) {
  AnswerNothing(first_);
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  first_.watches.Say(LOCK_EVENT_KIND_STARTED);
  ASSERT_TRUE(first_.get_lock.WaitForCalls(1));
}

TEST_F(ClosedObserverTest, WhileItFollows) {
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  first_.watches.Say(LOCK_EVENT_KIND_STARTED);
  EXPECT_EQ(NextLeader(), 0);
}

TEST_F(ClosedObserverTest, DuringThePauseAfterAnError) {
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  first_.watches.End(
      support::StatusOf({grpc::StatusCode::RESOURCE_EXHAUSTED, "RATE_LIMIT", "", "", 60'000}));
  EXPECT_THAT(errors_.Take(), Optional(testing::Truly(absl::IsResourceExhausted)));
  EXPECT_TRUE(first_.watches.WaitForOpen(0));
}

TEST_F(ClientObserveTest, ClosesWhileACallbackRuns) {
  std::promise<void> runs;
  std::promise<void> may_return;
  std::atomic<bool> returned = false;
  std::optional<LeaderObserver> observer;
  observer.emplace(*client_.Observe("report", {.on_change = [&](const Change&) {
                                      runs.set_value();
                                      may_return.get_future().wait();
                                      returned = true;
                                    }}));
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  first_.watches.Say(LOCK_EVENT_KIND_GRANTED, 5, "alice");
  runs.get_future().wait();

  observer->Close();  // Does not wait for it.
  EXPECT_TRUE(first_.watches.WaitForOpen(0)) << "which holds up nothing";
  EXPECT_EQ(observer->leader()->fencing_token, 5);

  may_return.set_value();
  observer.reset();
  EXPECT_TRUE(returned);
}

TEST_F(ClientObserveTest, CallbackMayCloseItsObserver) {
  std::promise<LeaderObserver*> made;
  std::promise<void> closed;
  LeaderObserver observer = *client_.Observe("report", {.on_change = [&](const Change&) {
                                               made.get_future().get()->Close();
                                               closed.set_value();
                                             }});
  made.set_value(&observer);
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  first_.watches.Say(LOCK_EVENT_KIND_GRANTED, 5, "alice");
  closed.get_future().wait();
  EXPECT_TRUE(first_.watches.WaitForOpen(0));
}

// What it does not read must not pile up here: the daemon notices that it is slow.
TEST_F(ClientObserveTest, SlowCallerHearsOfAllInTheEnd) {
  std::promise<void> may_return;
  const std::shared_future<void> go_on = may_return.get_future().share();
  const LeaderObserver observer =
      *client_.Observe("report", {.on_change = [&, go_on](const Change& leader) {
                         go_on.wait();
                         changes_.Put(leader);
                       }});
  ASSERT_TRUE(first_.watches.WaitForOpen(1));
  for (int64_t token = 1; token <= 100; ++token) {
    first_.watches.Say(LOCK_EVENT_KIND_GRANTED, token, "somebody");
  }
  may_return.set_value();
  for (int64_t token = 1; token <= 100; ++token) ASSERT_EQ(NextLeader(), token);
}

}  // namespace
}  // namespace lockkeeper
