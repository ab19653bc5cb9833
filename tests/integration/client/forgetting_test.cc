// SPDX-License-Identifier: Apache-2.0
//
// Redis loses everything while the C++ client holds locks. docs/concepts/when_redis_forgets.md
// says what has to come of it. Method: a released lease makes the quarantine long enough to look
// at, and an acquire that waits tells when it is over.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "integration/client/client_fixture.h"
#include "lockkeeper/client.h"
#include "lockkeeper/error.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using support::WaitUntil;

constexpr std::string_view kNobodysId = "0123456789abcdef0123456789abcdef";

// So long that a machine that has no time for the test for some seconds does not fail it.
constexpr auto kHeld = 6s;

enum class Loss { kFlushed, kRestartedEmpty };

class ClientForgettingTest
    : public ClientAndDaemons,
      public testing::WithParamInterface<std::tuple<client::Channels::Sessions, Loss>> {
 protected:
  Client NewClient() const {
    return ClientOf({daemon_->GrpcAddress()}, std::get<client::Channels::Sessions>(GetParam()));
  }

  // One that does not wait for the end of a quarantine of some seconds.
  Client HastyClient() const {
    return *Client::Create({.addresses = {daemon_->GrpcAddress()}, .call_timeout = 2s});
  }

  void LoseEverything() {
    if (std::get<Loss>(GetParam()) == Loss::kFlushed) {
      redis_.Run({"FLUSHALL"});
    } else {
      redis_.Restart(support::Data::kLose);
    }
  }

  // A lease that nobody renews and nobody releases.
  static Grant Left(Client& client, const std::string& name, std::chrono::milliseconds ttl) {
    AcquireResult result = client.Acquire(name, {.ttl = ttl});
    EXPECT_TRUE(result) << result.status();
    Grant grant = result->grant();
    std::move(result).TakeLease().Detach();
    return grant;
  }

  static absl::StatusOr<Lease> TakeBack(Client& client, const Grant& grant) {
    return client.Adopt(grant.name, grant.lease_id,
                        {.fencing_token = grant.fencing_token, .reassertion = grant.reassertion});
  }

  static std::future<AcquireResult> WaitForReport(Client& client) {
    return std::async(std::launch::async, [&client] {
      return client.Acquire("report", {.ttl = kHeld, .wait_timeout = 1min});
    });
  }

  // Waits until the store grants again.
  static void AwaitGrants(Client& client) {
    const AcquireResult granted =
        client.Acquire("another lock", {.ttl = kHeld, .wait_timeout = 1min});
    EXPECT_TRUE(granted) << granted.status();
  }

  // Waits until the lease was extended `count` times more. False if it is lost.
  static bool IsKept(AcquireResult& held, int count) {
    auto extended = std::make_shared<std::atomic<int>>(0);
    held->OnExtended([extended] { ++*extended; });
    return WaitUntil([&] { return *extended >= count || held->lost(); }) && !held->lost();
  }

  std::unique_ptr<support::DaemonProcess> daemon_ = StartDaemon();
};

std::string NameOfLoss(const testing::TestParamInfo<ClientForgettingTest::ParamType>& test) {
  const auto [sessions, loss] = test.param;
  return std::string(sessions == client::Channels::Sessions::kUsed ? "Session" : "Unary") +
         (loss == Loss::kFlushed ? "Flushed" : "RestartedEmpty");
}

// lockkeeper run, which uses sessions, goes through both in the tests of the command line.
INSTANTIATE_TEST_SUITE_P(
    Losses, ClientForgettingTest,
    testing::Values(std::tuple(client::Channels::Sessions::kUsed, Loss::kFlushed),
                    std::tuple(client::Channels::Sessions::kNotUsed, Loss::kRestartedEmpty)),
    NameOfLoss);

TEST_P(ClientForgettingTest, HolderKeepsItsLockAndNobodyElseGetsOneUntilTheQuarantineIsOver) {
  Client client = NewClient();
  Client hasty = HastyClient();
  AcquireResult held = client.Acquire("report", {.ttl = kHeld});
  ASSERT_TRUE(held) << held.status();
  AcquireResult released = client.Acquire("released", {.ttl = 8s});
  ASSERT_TRUE(released) << released.status();
  ASSERT_EQ(released->Release().value(), ReleaseOutcome::kReleased);

  LoseEverything();

  const AcquireResult refused = hasty.Acquire("released");
  EXPECT_EQ(ReasonOf(refused.status()), ErrorReason::kStoreQuarantined) << refused.status();
  AwaitGrants(client);
  EXPECT_FALSE(held->lost());
  const AcquireResult contention = client.Acquire("report");
  ASSERT_TRUE(contention.contention()) << contention.status();
  EXPECT_EQ(contention.contention()->reason, ContentionReason::kHeld);
  EXPECT_TRUE(IsKept(held, 2));
  AcquireResult again = client.Acquire("released");
  ASSERT_TRUE(again) << "a lease that was over is not taken back: " << again.status();
  EXPECT_GT(again->fencing_token(), released->fencing_token());

  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
  AcquireResult next = client.Acquire("report");
  ASSERT_TRUE(next) << next.status();
  EXPECT_GT(next->fencing_token(), held->fencing_token());
}

TEST_P(ClientForgettingTest, WaiterGetsTheLockOfAHolderThatKeptIt) {
  Client client = NewClient();
  AcquireResult held = client.Acquire("report", {.ttl = kHeld});
  ASSERT_TRUE(held) << held.status();
  auto waiting = WaitForReport(client);
  ASSERT_TRUE(WaitForWaiters(1));

  LoseEverything();

  AwaitGrants(client);
  EXPECT_TRUE(IsKept(held, 1));
  EXPECT_TRUE(WaitForWaiters(1));
  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
  AcquireResult waiter = waiting.get();
  ASSERT_TRUE(waiter) << waiter.status();
  EXPECT_GT(waiter->fencing_token(), held->fencing_token());
  EXPECT_TRUE(IsKept(waiter, 1));
}

// A lease that was waited for was claimed from an offer, which had the proof.
TEST_P(ClientForgettingTest, LeaseThatWasWaitedForIsKeptToo) {
  Client client = NewClient();
  AcquireResult first = client.Acquire("report", {.ttl = kHeld});
  ASSERT_TRUE(first) << first.status();
  auto waiting = WaitForReport(client);
  ASSERT_TRUE(WaitForWaiters(1));
  EXPECT_EQ(first->Release().value(), ReleaseOutcome::kReleased);
  AcquireResult held = waiting.get();
  ASSERT_TRUE(held) << held.status();

  LoseEverything();

  AwaitGrants(client);
  EXPECT_FALSE(held->lost());
  EXPECT_EQ(held->Release().value(), ReleaseOutcome::kReleased);
}

TEST_P(ClientForgettingTest, OnlyTheProofOfTheVeryLeaseTakesItBack) {
  Client client = NewClient();
  Client hasty = HastyClient();
  const Grant report = Left(client, "report", 30s);
  const Grant other = Left(client, "other", 30s);
  ASSERT_NE(report.reassertion, "");

  LoseEverything();

  const auto forged = [&](auto change) {
    Grant grant = report;
    change(grant);
    const auto lease = TakeBack(client, grant);
    EXPECT_EQ(ReasonOf(lease.status()), ErrorReason::kLeaseLost) << lease.status();
  };
  forged([](Grant& grant) { ++grant.fencing_token; });
  forged([](Grant& grant) { --grant.fencing_token; });
  forged([](Grant& grant) { grant.name = "other"; });
  forged([](Grant& grant) { grant.name = "a lock that nobody has had"; });
  forged([](Grant& grant) { grant.lease_id = kNobodysId; });
  forged([&](Grant& grant) { grant.lease_id = other.lease_id; });
  forged([&](Grant& grant) { grant.reassertion = other.reassertion; });
  forged([](Grant& grant) { grant.reassertion.insert(2, "1"); });  // A ttl of 130 s.
  forged([](Grant& grant) { grant.reassertion.pop_back(); });
  forged([](Grant& grant) { grant.reassertion = "no proof"; });
  const auto unproved = hasty.Adopt("report", report.lease_id);
  EXPECT_EQ(ReasonOf(unproved.status()), ErrorReason::kStoreQuarantined) << unproved.status();

  absl::StatusOr<Lease> lease = TakeBack(client, report);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->fencing_token(), report.fencing_token);
  EXPECT_EQ(lease->Release().value(), ReleaseOutcome::kReleased);
  const auto again = TakeBack(client, report);
  EXPECT_EQ(ReasonOf(again.status()), ErrorReason::kLeaseLost) << "it is known to be released";
  EXPECT_TRUE(TakeBack(client, other).ok());
}

TEST_P(ClientForgettingTest, LeaseThatIsReleasedBeforeItIsTakenBackStaysReleased) {
  Client client = NewClient();
  const Grant report = Left(client, "report", 30s);

  LoseEverything();

  // kNotHolder, which after a try without an answer counts as released.
  EXPECT_TRUE(client.Release("report", report.lease_id).ok());
  const auto lease = TakeBack(client, report);
  EXPECT_EQ(ReasonOf(lease.status()), ErrorReason::kLeaseLost) << lease.status();
}

TEST_P(ClientForgettingTest, ProofThatComesAfterTheQuarantineIsTooLate) {
  Client client = NewClient();
  const Grant report = Left(client, "report", 3s);

  LoseEverything();

  AwaitGrants(client);
  const auto late = TakeBack(client, report);
  EXPECT_EQ(ReasonOf(late.status()), ErrorReason::kLeaseLost) << late.status();
  AcquireResult next = client.Acquire("report");
  ASSERT_TRUE(next) << next.status();
  EXPECT_GT(next->fencing_token(), report.fencing_token);
}

}  // namespace
}  // namespace lockkeeper
