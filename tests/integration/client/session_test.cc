// SPDX-License-Identifier: Apache-2.0
//
// The client's session with a real daemon, which is killed, paused, or cut off from it. Method: all
// connections go through a gate, which also tells how many there are.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "integration/client/client_fixture.h"
#include "lockkeeper/client.h"
#include "support/process/connection_gate.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using support::WaitUntil;

class ClientSessionTest : public ClientAndDaemons {
 protected:
  Client NewClient() const { return ClientOf({gate_.address()}); }

  // Waits until the lease was extended `count` times more. False if it is lost.
  static bool IsKept(AcquireResult& held, int count) {
    auto extended = std::make_shared<std::atomic<int>>(0);
    held->OnExtended([extended] { ++*extended; });
    return WaitUntil([&] { return *extended >= count || held->lost(); }) && !held->lost();
  }

  const support::TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("d.sock");
  support::ConnectionGate gate_{path_};
  std::unique_ptr<support::DaemonProcess> daemon_ = StartDaemon("unix:" + path_);
};

TEST_F(ClientSessionTest, ManyThreadsShareOneConnection) {
  Client client = NewClient();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&client, name = "lock" + std::to_string(i)] {
      int64_t last = 0;
      for (int j = 0; j < 50; ++j) {
        AcquireResult result = client.Acquire(name);
        ASSERT_TRUE(result) << result.status();
        EXPECT_GT(result->fencing_token(), last);
        last = result->fencing_token();
        ASSERT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(gate_.connections(), 1u);
}

TEST_F(ClientSessionTest, ManyThreadsTakeTurnsAtOneLock) {
  Client client = NewClient();
  std::vector<std::thread> threads;
  int64_t last = 0;  // Guarded by the lock.
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10; ++j) {
        AcquireResult result = client.Acquire("report", {.wait_timeout = 2min});
        ASSERT_TRUE(result) << result.status();
        EXPECT_GT(result->fencing_token(), last);
        last = result->fencing_token();
        ASSERT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(gate_.connections(), 1u) << "waiting holds nothing up";
}

TEST_F(ClientSessionTest, LeaseIsKeptOverThreeTimesItsTtl) {
  Client client = NewClient();
  AcquireResult held = client.Acquire("report", {.ttl = 3s});
  ASSERT_TRUE(held) << held.status();

  EXPECT_TRUE(IsKept(held, 9));

  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
  EXPECT_EQ(gate_.connections(), 1u);
}

TEST_F(ClientSessionTest, LeaseOutlivesItsDaemonThatIsKilledAndStartedAgain) {
  Client client = NewClient();
  AcquireResult held = client.Acquire("report", {.ttl = 9s});
  ASSERT_TRUE(held) << held.status();

  daemon_->Signal(SIGKILL);
  daemon_->WaitForEnd();
  daemon_ = StartDaemon("unix:" + path_);

  EXPECT_TRUE(IsKept(held, 2));
  AcquireResult other = client.Acquire("other");
  EXPECT_TRUE(other) << other.status();
  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
}

TEST_F(ClientSessionTest, LeaseIsKeptWhenItsConnectionGoesSilent) {
  Client client = NewClient();
  AcquireResult held = client.Acquire("report", {.ttl = 9s});
  ASSERT_TRUE(held) << held.status();

  gate_.Hold();

  EXPECT_TRUE(IsKept(held, 2));
  EXPECT_GT(gate_.connections(), 1u);
  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
}

TEST_F(ClientSessionTest, WaitingAcquireWaitsOnWhenItsStreamIsCut) {
  Client holding = NewClient();
  AcquireResult held = holding.Acquire("report");
  ASSERT_TRUE(held) << held.status();
  Client client = NewClient();
  auto waiting = AcquireWaiting(client);
  ASSERT_TRUE(WaitForWaiters(1));

  gate_.Cut();
  ASSERT_TRUE(WaitForWaiters(1, /*attempt=*/2));
  ASSERT_EQ(held->Release().value(), ReleaseOutcome::kReleased);

  AcquireResult result = waiting.get();
  ASSERT_TRUE(result) << result.status();
  EXPECT_GT(result->grant().waited, 0ms);
}

TEST_F(ClientSessionTest, StreamsThatAreCutAllTheTimeLoseNothing) {
  Client client = NewClient();
  AcquireResult held = client.Acquire("report", {.ttl = 9s});
  ASSERT_TRUE(held) << held.status();

  for (int i = 0; i < 8; ++i) {
    gate_.Cut();
    AcquireResult result = client.Acquire("other");
    ASSERT_TRUE(result) << result.status();
    EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
  }

  EXPECT_TRUE(IsKept(held, 1));
  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
}

// Method: what happens at the lock would show in its tokens, or in a thread that never gets it.
TEST_F(ClientSessionTest, ThreadsThatTakeTurnsGoOnWhileStreamsAreCut) {
  Client client = NewClient();
  std::vector<std::thread> threads;
  std::atomic<int> turns = 0;
  int64_t last = 0;  // Guarded by the lock.
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10; ++j) {
        AcquireResult result = client.Acquire("report", {.wait_timeout = 2min});
        ASSERT_TRUE(result) << result.status();
        EXPECT_GT(result->fencing_token(), last);
        last = result->fencing_token();
        ++turns;
        ASSERT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
      }
    });
  }
  for (const int turn : {5, 20, 40, 60}) {
    EXPECT_TRUE(WaitUntil([&] { return turns >= turn; }));
    gate_.Cut();
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(turns, 80);
}

TEST_F(ClientSessionTest, ClientGoesWhileItsDaemonHangs) {
  std::optional<Client> client =
      *Client::Create({.addresses = {gate_.address()}, .release_timeout = 1ms});
  {
    AcquireResult held = client->Acquire("report");
    ASSERT_TRUE(held) << held.status();
    daemon_->Pause();
  }

  client.reset();

  daemon_->Resume();
}

}  // namespace
}  // namespace lockkeeper
