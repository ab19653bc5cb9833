// SPDX-License-Identifier: Apache-2.0
//
// The client's session over a real connection: that it is used, and what becomes of operations when
// it breaks or is refused.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "lockkeeper/client.h"
#include "support/client/fake_lock_server.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using support::FakeCall;
using support::FakeLockServer;

class ClientSessionTest : public testing::Test {
 protected:
  Client NewClient() { return *Client::Create({.addresses = {server_.address()}}); }

  std::atomic<int> unary_ = 0;  // Calls that came without a session. Outlives their handlers.
  FakeLockServer server_;
};

TEST_F(ClientSessionTest, AllOperationsOfAllThreadsGoThroughOneSession) {
  const auto count = [this](const FakeCall& call) {
    if (call.cancel == nullptr) ++unary_;
  };
  server_.acquire.Always([this, count](const FakeCall& call, const auto& request, auto* response) {
    count(call);
    return server_.HonestAcquire(request, response);
  });
  server_.extend.Always([this, count](const FakeCall& call, const auto& request, auto* response) {
    count(call);
    return server_.HonestExtend(request, response);
  });
  server_.release.Always([this, count](const FakeCall& call, const auto& request, auto* response) {
    count(call);
    return server_.HonestRelease(request, response);
  });
  Client client = NewClient();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&client, name = "lock" + std::to_string(i)] {
      for (int j = 0; j < 20; ++j) {
        AcquireResult result = client.Acquire(name);
        ASSERT_TRUE(result) << result.status();
        std::string id = std::move(result).TakeLease().Detach();
        ASSERT_TRUE(client.Adopt(name, id).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(server_.sessions.opened(), 1u);
  EXPECT_EQ(unary_, 0);
  EXPECT_GE(server_.release.seen().size(), 160u);
}

TEST_F(ClientSessionTest, AcquireWhoseSessionIsCutIsRepeatedAndFindsItsGrant) {
  server_.acquire.Next([this](const FakeCall& call, const auto& request, auto* response) {
    EXPECT_TRUE(server_.HonestAcquire(request, response).ok());
    server_.UntilCancelled(call);
    return grpc::Status::OK;
  });
  Client client = NewClient();
  auto acquiring = std::async(std::launch::async, [&] { return client.Acquire("report"); });
  ASSERT_TRUE(server_.acquire.WaitForCalls(1));

  server_.sessions.Cut();
  AcquireResult result = acquiring.get();

  ASSERT_TRUE(result) << result.status();
  const auto seen = server_.acquire.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].lease_id(), seen[0].lease_id());
  EXPECT_EQ(seen[1].attempt(), 2);
  EXPECT_EQ(result->fencing_token(), 1) << "nothing was granted twice";
  EXPECT_EQ(server_.sessions.opened(), 2u);
}

TEST_F(ClientSessionTest, LeaseIsKeptWhenItsSessionIsCut) {
  Client client = NewClient();
  AcquireResult result = client.Acquire("report", {.ttl = 3s});
  ASSERT_TRUE(result) << result.status();

  server_.sessions.Cut();
  ASSERT_TRUE(server_.extend.WaitForCalls(1));

  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
  EXPECT_EQ(server_.sessions.opened(), 2u);
}

TEST_F(ClientSessionTest, ProxyThatCutsEveryStreamIsGoneAround) {
  server_.sessions.CutAll();
  Client client = NewClient();

  for (int i = 0; i < 10; ++i) {
    AcquireResult result = client.Acquire("report");
    ASSERT_TRUE(result) << result.status();
    EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
  }

  EXPECT_LE(server_.sessions.opened(), 3u);
}

TEST_F(ClientSessionTest, DaemonThatDrainsIsLeftForTheNext) {
  FakeLockServer next;
  Client client = *Client::Create({.addresses = {server_.address(), next.address()}});
  static_cast<void>(client.Acquire("report"));
  ASSERT_TRUE(server_.sessions.WaitForOpen(1));

  server_.sessions.Drain();
  EXPECT_TRUE(server_.sessions.WaitForOpen(0)) << "it is closed, since nothing is under way";
  AcquireResult result = client.Acquire("report");

  ASSERT_TRUE(result) << result.status();
  EXPECT_EQ(next.HolderOf("report"), result->grant().lease_id);
  EXPECT_EQ(server_.acquire.seen().size(), 1u);
}

TEST_F(ClientSessionTest, SessionEndsWithItsClient) {
  {
    Client client = NewClient();
    static_cast<void>(client.Acquire("report"));
    ASSERT_EQ(server_.sessions.open(), 1u);
  }
  EXPECT_TRUE(server_.sessions.WaitForOpen(0));
}

TEST_F(ClientSessionTest, NameThatIsNoTextIsRefusedAloneAndTheSessionLives) {
  Client client = NewClient();
  AcquireResult held = client.Acquire("report");
  ASSERT_TRUE(held) << held.status();

  EXPECT_FALSE(client.Acquire("no \xff text"));
  EXPECT_FALSE(client.Acquire(std::string(5'000'000, 'x')));

  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
  EXPECT_EQ(server_.sessions.opened(), 1u);
}

}  // namespace
}  // namespace lockkeeper
