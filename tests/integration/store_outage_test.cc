// SPDX-License-Identifier: Apache-2.0
//
// Redis is killed and comes back while clients work: every call has a definite kind of answer, and
// the daemon goes on by itself.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::support {
namespace {

using std::chrono::seconds;

// One client that locks and unlocks its own lock until it is told to stop.
struct Worker {
  std::string lock;
  std::atomic<int> cycles{0};
  std::atomic<int> refusals{0};
  std::vector<std::string> surprises;
  int64_t last_token = 0;

  void Cycle(LockClient& caller) {
    const std::string lease_id = NewLeaseId();
    const auto granted = caller.Acquire(AcquireOf(lock, lease_id, std::chrono::milliseconds(500)));
    if (!granted.ok()) return Refused(granted.status, granted.reason);
    if (!granted.response.has_lease()) return;  // A lease whose release was not answered runs out.
    const int64_t token = granted.response.lease().fencing_token();
    if (token <= last_token)
      surprises.push_back("token " + std::to_string(token) + " did not rise");
    last_token = token;
    const auto released = caller.Release(ReleaseOf(lock, lease_id));
    if (!released.ok()) return Refused(released.status, released.reason);
    ++cycles;
  }

  void Refused(const grpc::Status& status, const std::string& reason) {
    ++refusals;
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
        (reason == "STORE_UNAVAILABLE" || reason == "OUTCOME_UNKNOWN")) {
      return;
    }
    surprises.push_back(reason + ": " + status.error_message());
  }
};

TEST(StoreOutageTest, RedisKilledUnderLoadIsSaidAndOvercome) {
  constexpr int kWorkers = 8;
  RedisServer redis({.durability = Durability::kDiskAlways});
  DaemonProcess daemon({.program = LOCKKEEPERD_PROGRAM,
                        .arguments = {"--redis", redis.unix_url(), "--listen", "127.0.0.1:0",
                                      "--http-listen", "127.0.0.1:0"}});
  daemon.WaitUntilReady();
  std::atomic<bool> stop{false};
  std::vector<Worker> workers(kWorkers);
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    workers[static_cast<size_t>(i)].lock = "own lock " + std::to_string(i);
    threads.emplace_back([&, &worker = workers[static_cast<size_t>(i)]] {
      LockClient caller(daemon.GrpcAddress());
      while (!stop) worker.Cycle(caller);
    });
  }
  const auto all_reach = [&](auto counter, int target) {
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    for (Worker& worker : workers) {
      while (counter(worker) < target && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      EXPECT_GE(counter(worker), target) << worker.lock;
    }
  };

  for (int round = 0; round < 3; ++round) {
    for (Worker& worker : workers) worker.cycles = 0;
    all_reach([](Worker& worker) { return worker.cycles.load(); }, 10);
    for (Worker& worker : workers) worker.refusals = 0;
    redis.Kill();
    all_reach([](Worker& worker) { return worker.refusals.load(); }, 1);
    redis.Restart(Data::kKeep);
  }
  for (Worker& worker : workers) worker.cycles = 0;
  all_reach([](Worker& worker) { return worker.cycles.load(); }, 10);

  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const Worker& worker : workers) {
    for (const std::string& surprise : worker.surprises) ADD_FAILURE() << surprise;
  }
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.ExitCode(), 0);
}

// A call without a deadline is the last one that waits, when one with a deadline has given up.
TEST(StoreOutageTest, CallWithoutADeadlineSurvivesOneThatGaveUp) {
  RedisServer redis;
  DaemonProcess daemon({.program = LOCKKEEPERD_PROGRAM,
                        .arguments = {"--redis", redis.unix_url(), "--listen", "127.0.0.1:0",
                                      "--http-listen", "127.0.0.1:0"}});
  daemon.WaitUntilReady();
  LockClient caller(daemon.GrpcAddress());
  ASSERT_TRUE(caller.Fence(FenceOf("a", 1)).ok());
  redis.Pause();

  grpc::Status patient;
  std::thread without_deadline([&] {
    const auto stub = admin::v1::AdminService::NewStub(
        grpc::CreateChannel(daemon.GrpcAddress(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    admin::v1::GetLockRequest request;
    request.set_name("a");
    admin::v1::GetLockResponse response;
    patient = stub->GetLock(&context, request, &response);
  });
  LockClient impatient = caller.WithDeadline(std::chrono::milliseconds(300));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(impatient.Fence(FenceOf("a", 1)).ok());
  redis.Resume();
  without_deadline.join();

  EXPECT_NE(patient.error_message(), "Socket closed");
  EXPECT_TRUE(daemon.Runs()) << daemon.Stderr();
}

}  // namespace
}  // namespace lockkeeper::support
