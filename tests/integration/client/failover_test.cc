// SPDX-License-Identifier: Apache-2.0
//
// The C++ client with real daemons on one Redis: waiting, and daemons that stop meanwhile.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "integration/client/client_fixture.h"
#include "lockkeeper/client.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using support::DaemonProcess;
using support::WaitUntil;

class ClientFailoverTest : public ClientAndDaemons,
                           public testing::WithParamInterface<client::Channels::Sessions> {
 protected:
  static Client ClientOf(const std::vector<std::string>& addresses) {
    return ClientAndDaemons::ClientOf(addresses, GetParam());
  }

  std::unique_ptr<DaemonProcess> first_ = StartDaemon();
  std::unique_ptr<DaemonProcess> second_ = StartDaemon();
};

INSTANTIATE_TEST_SUITE_P(Ways, ClientFailoverTest,
                         testing::Values(client::Channels::Sessions::kUsed,
                                         client::Channels::Sessions::kNotUsed),
                         [](const auto& way) {
                           return way.param == client::Channels::Sessions::kUsed ? "Session"
                                                                                 : "Unary";
                         });

TEST_P(ClientFailoverTest, WaitingAcquireKeepsItsPlaceWhenItsDaemonStops) {
  Client holding = ClientOf({second_->GrpcAddress()});
  Client client = ClientOf({first_->GrpcAddress(), second_->GrpcAddress()});
  Client other = ClientOf({second_->GrpcAddress()});
  AcquireResult held = holding.Acquire("report");
  ASSERT_TRUE(held) << held.status();
  auto early = AcquireWaiting(client);
  ASSERT_TRUE(WaitForWaiters(1));
  auto late = AcquireWaiting(other);
  ASSERT_TRUE(WaitForWaiters(2));

  first_->Signal(SIGTERM);
  ASSERT_EQ(first_->ExitCode(), 0);
  ASSERT_TRUE(WaitForWaiters(1, /*attempt=*/2));
  ASSERT_EQ(held->Release().value(), ReleaseOutcome::kReleased);

  AcquireResult earlys = early.get();
  ASSERT_TRUE(earlys) << earlys.status();
  EXPECT_GT(earlys->grant().waited, 0ms);
  EXPECT_GT(earlys->remaining(), 10s) << "counted from the claim";
  const int64_t token = earlys->fencing_token();
  ASSERT_EQ(earlys->Release().value(), ReleaseOutcome::kReleased);
  AcquireResult lates = late.get();
  ASSERT_TRUE(lates) << lates.status();
  EXPECT_GT(lates->fencing_token(), token);
}

TEST_P(ClientFailoverTest, LeaseIsKeptAndReleasedWhenItsDaemonStops) {
  Client client = ClientOf({first_->GrpcAddress(), second_->GrpcAddress()});
  AcquireResult held = client.Acquire("report", {.ttl = 3s});
  ASSERT_TRUE(held) << held.status();

  first_->Signal(SIGTERM);
  ASSERT_EQ(first_->ExitCode(), 0);
  std::atomic<int> extended = 0;
  held->OnExtended([&] { ++extended; });

  EXPECT_TRUE(WaitUntil([&] { return extended >= 2 || held->lost(); }));
  EXPECT_FALSE(held->lost());
  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
}

TEST_P(ClientFailoverTest, WaitingAcquireOutlivesARestartOfItsOnlyDaemon) {
  const support::TemporaryDirectory directory;
  const std::string address = "unix:" + directory.Path("d.sock");
  auto only = StartDaemon(address);
  Client holding = ClientOf({second_->GrpcAddress()});
  Client client = ClientOf({address});
  AcquireResult held = holding.Acquire("report");
  ASSERT_TRUE(held) << held.status();
  auto waiting = AcquireWaiting(client);
  ASSERT_TRUE(WaitForWaiters(1));

  only->Signal(SIGTERM);
  ASSERT_EQ(only->ExitCode(), 0);
  only = StartDaemon(address);
  ASSERT_EQ(held->Release().value(), ReleaseOutcome::kReleased);

  AcquireResult result = waiting.get();
  EXPECT_TRUE(result) << result.status();
}

TEST_P(ClientFailoverTest, CancelledWaitLeavesNothingBehind) {
  Client holding = ClientOf({second_->GrpcAddress()});
  AcquireResult held = holding.Acquire("report");
  ASSERT_TRUE(held) << held.status();
  {
    Client client = ClientOf({first_->GrpcAddress()});
    std::stop_source cancel;
    auto waiting = AcquireWaiting(client, cancel.get_token());
    ASSERT_TRUE(WaitForWaiters(1));
    cancel.request_stop();
    EXPECT_TRUE(absl::IsCancelled(waiting.get().status()));
  }
  EXPECT_EQ(Line(), std::vector<std::string>());
}

TEST_P(ClientFailoverTest, LeaseIsKeptWhileManyAcquiresOfTheSameClientWait) {
  constexpr int kWaiting = 32;
  Client holding = ClientOf({second_->GrpcAddress()});
  AcquireResult held = holding.Acquire("report");
  ASSERT_TRUE(held) << held.status();
  Client client = ClientOf({first_->GrpcAddress()});
  std::stop_source cancel;
  std::vector<std::future<AcquireResult>> waiting;
  for (int i = 0; i < kWaiting; ++i) waiting.push_back(AcquireWaiting(client, cancel.get_token()));
  ASSERT_TRUE(WaitForWaiters(kWaiting));

  AcquireResult kept = client.Acquire("other", {.ttl = 3s});
  ASSERT_TRUE(kept) << kept.status();
  std::atomic<int> extended = 0;
  kept->OnExtended([&] { ++extended; });
  EXPECT_TRUE(WaitUntil([&] { return extended >= 2 || kept->lost(); }));
  EXPECT_FALSE(kept->lost());
  EXPECT_EQ(kept->Release().value(), ReleaseOutcome::kReleased);

  cancel.request_stop();
  for (auto& each : waiting) EXPECT_TRUE(absl::IsCancelled(each.get().status()));
}

}  // namespace
}  // namespace lockkeeper
