// SPDX-License-Identifier: Apache-2.0
//
// A daemon with `server.max_connection_age`: its clients connect again and again, and nobody who
// holds a lock or waits for one notices. Method: a gate counts the connections.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "integration/client/client_fixture.h"
#include "lockkeeper/client.h"
#include "support/process/connection_gate.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using support::WaitUntil;

class ConnectionAgeTest : public ClientAndDaemons, public testing::WithParamInterface<bool> {
 protected:
  Client NewClient() {
    return ClientOf({gate_.address()}, GetParam() ? Sessions::kUsed : Sessions::kNotUsed,
                    client::Spread::kOneDaemon, [this](const absl::Status& why) {
                      const std::lock_guard lock(mutex_);
                      unserved_.push_back(why.ToString());
                    });
  }

  // Calls that had to be sent again.
  std::vector<std::string> Unserved() {
    const std::lock_guard lock(mutex_);
    return unserved_;
  }

  const support::TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("d.sock");
  support::ConnectionGate gate_{path_};
  std::unique_ptr<support::DaemonProcess> daemon_ = StartDaemon(
      "unix:" + path_, {{"LOCKKEEPERD_SERVER_MAX_CONNECTION_AGE", "1s"},
                        // A Redis that a busy machine holds up is not what is asked here.
                        {"LOCKKEEPERD_STORE_CONNECT_TIMEOUT", "20s"},
                        {"LOCKKEEPERD_STORE_REQUEST_TIMEOUT", "20s"}});

 private:
  std::mutex mutex_;
  std::vector<std::string> unserved_;
};

INSTANTIATE_TEST_SUITE_P(Ways, ConnectionAgeTest, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "Session" : "Unary"; });

TEST_P(ConnectionAgeTest, LeasesLiveOnAndNoCallFailsOverManyConnections) {
  Client client = NewClient();
  std::vector<AcquireResult> held;
  for (int i = 0; i < 8; ++i) {  // Enough for heartbeats.
    held.push_back(client.Acquire("held" + std::to_string(i), {.ttl = 6s}));
    ASSERT_TRUE(held.back()) << held.back().status();
  }

  const size_t before = gate_.connections();
  int calls = 0;
  ASSERT_TRUE(WaitUntil([&] {
    ++calls;
    AcquireResult result = client.Acquire("other", {.ttl = 6s});
    EXPECT_TRUE(result) << result.status();
    if (!result) return true;
    EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);
    return gate_.connections() >= before + 6;
  })) << calls
      << " calls, and " << gate_.connections() - before << " connections more";

  for (AcquireResult& each : held) {
    EXPECT_FALSE(each->lost());
    EXPECT_EQ(each->Release().value(), ReleaseOutcome::kReleased);
  }
  EXPECT_EQ(Unserved(), std::vector<std::string>());
}

// What meets the end of a connection on its way has not reached anybody.
TEST_P(ConnectionAgeTest, CallThatAnEndingConnectionDidNotTakeIsServedOverTheNextOne) {
  Client client = NewClient();

  gate_.TurnAwayNext();
  AcquireResult result = client.Acquire("report", {.ttl = 6s});
  ASSERT_TRUE(result) << result.status();
  gate_.TurnAwayNext();
  EXPECT_EQ(result->Release().value(), ReleaseOutcome::kReleased);

  EXPECT_EQ(Unserved(), std::vector<std::string>());
}

// gRPC would end it with the grace of the connection.
TEST_P(ConnectionAgeTest, WaitIsNotEndedByTheAgeOfItsConnection) {
  Client holding = NewClient();
  AcquireResult held = holding.Acquire("report", {.ttl = 6s});
  ASSERT_TRUE(held) << held.status();
  Client client = NewClient();
  auto waiting = AcquireWaiting(client);
  ASSERT_TRUE(WaitForWaiters(1));

  const size_t before = gate_.connections();
  ASSERT_TRUE(WaitUntil([&] {
    EXPECT_TRUE(holding.Acquire("other"));
    return gate_.connections() >= before + 4;
  }));
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
  EXPECT_TRUE(WaitForWaiters(0, /*attempt=*/2)) << "it was sent once";
  ASSERT_EQ(held->Release().value(), ReleaseOutcome::kReleased);

  AcquireResult result = waiting.get();
  ASSERT_TRUE(result) << result.status();
  EXPECT_FALSE(result->lost());
  EXPECT_EQ(Unserved(), std::vector<std::string>());
}

}  // namespace
}  // namespace lockkeeper
