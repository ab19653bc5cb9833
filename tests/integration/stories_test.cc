// SPDX-License-Identifier: Apache-2.0
//
// The stories that lockkeeper is built for, with real daemons, a real redis-server and clients that
// know nothing but the protos.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/guarded_counter.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::support {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class StoriesTest : public testing::Test {
 protected:
  std::unique_ptr<DaemonProcess> StartDaemon() {
    auto daemon = std::make_unique<DaemonProcess>(
        DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM,
                             .arguments = {"--redis", redis_.unix_url(), "--listen", "127.0.0.1:0",
                                           "--http-listen", "127.0.0.1:0"}});
    daemon->WaitUntilReady();
    return daemon;
  }

  // Tries until the lock is granted to a new lease. Fails the test after half a minute.
  static v1::Lease AcquireInTime(LockClient& caller, const std::string& name) {
    const auto end = std::chrono::steady_clock::now() + seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      const auto answer = caller.Acquire(AcquireOf(name, NewLeaseId()));
      if (answer.ok() && answer.response.has_lease()) return answer.response.lease();
    }
    ADD_FAILURE() << name << " was not granted in time";
    return {};
  }

  // As every client should: while many threads connect, gRPC may take one for refused.
  template <typename Call>
  static auto SendUntilItArrives(const Call& call) {
    const auto end = std::chrono::steady_clock::now() + seconds(30);
    auto answer = call();
    while (answer.status.error_code() == grpc::StatusCode::UNAVAILABLE &&
           std::chrono::steady_clock::now() < end) {
      answer = call();
    }
    return answer;
  }

  RedisServer redis_;
};

TEST_F(StoriesTest, StolenLockIsRefusedByWhoeverChecksTheToken) {
  const auto daemon = StartDaemon();
  LockClient alice(daemon->GrpcAddress());
  LockClient bob(daemon->GrpcAddress());
  const std::string alices_id = NewLeaseId();
  const auto granted = alice.Acquire(AcquireOf("table 7", alices_id, milliseconds(200)));
  ASSERT_TRUE(granted.response.has_lease()) << granted.status.error_message();

  // Alice is paused beyond the end of her lease; Bob gets the lock.
  const v1::Lease bobs = AcquireInTime(bob, "table 7");

  const int64_t alices_token = granted.response.lease().fencing_token();
  EXPECT_GT(bobs.fencing_token(), alices_token);
  EXPECT_TRUE(bobs.previous_lease_expired());
  EXPECT_EQ(alice.Fence(FenceOf("table 7", alices_token)).response.verdict(), v1::VERDICT_STALE);
  EXPECT_EQ(bob.Fence(FenceOf("table 7", bobs.fencing_token())).response.verdict(),
            v1::VERDICT_ADMITTED);

  EXPECT_EQ(alice.Extend(ExtendOf("table 7", alices_id)).reason, "LEASE_LOST");
  const auto late_release = alice.Release(ReleaseOf("table 7", alices_id));
  EXPECT_FALSE(late_release.response.released());
  EXPECT_EQ(late_release.response.reason(), v1::NOT_RELEASED_REASON_EXPIRED);
  EXPECT_TRUE(bob.Extend(ExtendOf("table 7", bobs.lease_id())).ok());
}

TEST_F(StoriesTest, LockOfAKilledHolderIsFreeAfterItsTtl) {
  const auto daemon = StartDaemon();
  LockClient caller(daemon->GrpcAddress());
  ChildProcess holder(
      {.command = {LOCKKEEPER_PROGRAM, "--server", daemon->GrpcAddress(), "run", "nightly job",
                   "--ttl", "4s", "--grace", "100ms", "--", "sleep", "60"}});
  int64_t holders_token = 0;
  const auto end = std::chrono::steady_clock::now() + seconds(30);
  while (holders_token == 0 && std::chrono::steady_clock::now() < end) {
    const auto answer = caller.Fence(FenceOf("nightly job", 1));
    holders_token = answer.response.newest_fencing_token();
  }
  ASSERT_GT(holders_token, 0) << "the holder never got the lock";

  holder.Kill();
  const v1::Lease next = AcquireInTime(caller, "nightly job");

  EXPECT_GT(next.fencing_token(), holders_token);
  EXPECT_TRUE(next.previous_lease_expired());
}

TEST_F(StoriesTest, RetryOnASecondDaemonKeepsItsLeaseWhileTheFirstCleansUp) {
  const auto first = StartDaemon();
  const auto second = StartDaemon();
  LockClient by_first(first->GrpcAddress());
  LockClient by_second(second->GrpcAddress());
  ASSERT_TRUE(by_first.Fence(FenceOf("warm up", 1)).ok());
  const std::string lease_id = NewLeaseId();
  v1::AcquireRequest request = AcquireOf("payment 1", lease_id);

  first->Pause();
  EXPECT_EQ(by_first.WithDeadline(milliseconds(300)).Acquire(request).status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  request.set_attempt(2);
  const auto granted = by_second.Acquire(request);
  ASSERT_TRUE(granted.response.has_lease()) << granted.status.error_message();
  first->Resume();

  // The first daemon now finds the old call, whose caller is gone. What it does on the lock is done
  // when it answers about the same lock.
  const int64_t token = granted.response.lease().fencing_token();
  for (int i = 0; i < 50; ++i) {
    v1::FenceRequest fence = FenceOf("payment 1", token);
    fence.set_require_live_lease(true);
    ASSERT_EQ(by_first.Fence(fence).response.verdict(), v1::VERDICT_ADMITTED);
  }
  EXPECT_TRUE(by_second.Extend(ExtendOf("payment 1", lease_id)).ok());
}

TEST_F(StoriesTest, SixtyFourClientsLoseNoUpdateOfAGuardedCounter) {
  constexpr int kClients = 64;
  constexpr int kUpdatesEach = 4;
  const auto daemon = StartDaemon();
  const TemporaryDirectory directory;
  const std::string counter_file = directory.Path("counter");
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      LockClient caller(daemon->GrpcAddress(), seconds(60));
      GuardedCounter counter(counter_file);
      for (int updates = 0; updates < kUpdatesEach;) {
        const std::string lease_id = NewLeaseId();
        const auto answer =
            SendUntilItArrives([&] { return caller.Acquire(AcquireOf("counter", lease_id)); });
        ASSERT_TRUE(answer.ok()) << answer.status.error_message();
        if (!answer.response.has_lease()) continue;
        const int64_t token = answer.response.lease().fencing_token();
        const auto value = counter.Read(token);
        if (value && counter.Write(token, *value + 1)) ++updates;
        ASSERT_TRUE(SendUntilItArrives([&] {
                      return caller.Release(ReleaseOf("counter", lease_id));
                    }).ok());
      }
    });
  }
  for (std::thread& client : clients) client.join();

  EXPECT_EQ(GuardedCounter(counter_file).Look().value, kClients * kUpdatesEach);
}

}  // namespace
}  // namespace lockkeeper::support
