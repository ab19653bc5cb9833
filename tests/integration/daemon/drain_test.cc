// SPDX-License-Identifier: Apache-2.0
// How a daemon stops: what is in flight ends, nothing new begins, and no client loses its lock.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <future>

#include "integration/daemon/fixture.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using support::AcquireOf;
using support::CheckHealth;
using support::DaemonProcess;
using support::ExtendOf;
using support::LockClient;
using support::RedisServer;
using support::Serving;
using testing::AnyOf;
using testing::HasSubstr;

class DrainTest : public DaemonTest {
 protected:
  // Patient with the store, so that what is in flight stays so until the test lets it go on.
  std::unique_ptr<DaemonProcess> StartPatient(const std::string& drain_timeout) {
    std::ofstream(directory_.Path("config.yaml"))
        << "store:\n  request_timeout: 40s\ndrain:\n  timeout: " << drain_timeout << "\n";
    return Start({"--config", directory_.Path("config.yaml"), "--redis", redis_.url()});
  }

  // So that the store's marker tells of leases as long as those of the test: nothing but the
  // acquire itself is asked of the store then.
  static void WarmUp(DaemonProcess& daemon) {
    v1::AcquireRequest request = AcquireOf("warm-up");
    request.mutable_ttl()->set_seconds(60);
    ASSERT_TRUE(LockClient(daemon.GrpcAddress()).Acquire(request).response.has_lease());
  }

  // An acquire on its way: the store has it, but does not answer.
  std::future<support::Answer<v1::AcquireResponse>> AcquireInFlight(DaemonProcess& daemon,
                                                                    const std::string& name) {
    WarmUp(daemon);
    redis_.Pause();
    // More than what the daemon asks a silent server by itself.
    v1::AcquireRequest request = AcquireOf(name);
    for (char key = 'a'; key < 'a' + 8; ++key) {
      (*request.mutable_labels())[std::string(1, key)] = std::string(256, 'x');
    }
    auto answer = std::async(std::launch::async, [address = daemon.GrpcAddress(), request] {
      return LockClient(address, std::chrono::seconds(50)).Acquire(request);
    });
    WaitForBytesToRedis();
    return answer;
  }

  // Waits until the paused server has received an acquire with many labels: it lies in its socket's
  // buffer, unread.
  void WaitForBytesToRedis();

  RedisServer redis_{{.listening = support::Listening::kUnixSocketAndTcp}};
};

// Of the kernel's table of TCP connections: those of the server's port with a receive queue.
void DrainTest::WaitForBytesToRedis() {
  std::ostringstream port;
  port << ':' << std::uppercase << std::hex << std::setw(4) << std::setfill('0') << redis_.port();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < until) {
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues;
      words >> number >> local >> remote >> state >> queues;
      constexpr int kHex = 16;
      const bool unread =
          queues.size() == 17 && std::stoul(queues.substr(9), nullptr, kHex) > 2'000;
      if (local.ends_with(port.str()) && state == "01" && unread) return;
    }
  }
  FAIL() << "nothing reaches the server";
}

TEST_F(DrainTest, SignalsEndAnIdleDaemonWithZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const auto daemon = Start({"--redis", redis_.url()});
    daemon->Signal(signal);
    EXPECT_EQ(daemon->ExitCode(), 0);
    EXPECT_THAT(daemon->Stderr(), HasSubstr("event=daemon.drained"));
  }
}

// gRPC would wait for as long as the client does not look at its connection.
TEST_F(DrainTest, IdleConnectionDoesNotDelayTheEnd) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient client(daemon->GrpcAddress());
  ASSERT_TRUE(client.GetServerInfo().status.ok());
  const auto begin = std::chrono::steady_clock::now();

  daemon->Signal(SIGTERM);

  EXPECT_EQ(daemon->ExitCode(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15))
      << "drain.timeout is 20 s";
}

TEST_F(DrainTest, LocksAreKept) {
  const auto first = Start({"--redis", redis_.url()});
  const auto held = LockClient(first->GrpcAddress()).Acquire(AcquireOf("n"));
  ASSERT_TRUE(held.response.has_lease());
  first->Signal(SIGTERM);
  ASSERT_EQ(first->ExitCode(), 0);

  const auto second = Start({"--redis", redis_.url()});
  LockClient client(second->GrpcAddress());

  EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_contention());
  const auto extended = client.Extend(ExtendOf("n", held.response.lease().lease_id()));
  EXPECT_EQ(extended.response.lease().fencing_token(), held.response.lease().fencing_token());
}

TEST_F(DrainTest, WorkInFlightEndsAndNothingNewBegins) {
  const auto daemon = StartPatient("40s");
  LockClient client(daemon->GrpcAddress());
  ASSERT_TRUE(client.GetServerInfo().status.ok());  // Connected before the drain.
  auto in_flight = AcquireInFlight(*daemon, "n");

  daemon->Signal(SIGTERM);
  daemon->WaitForLog("event=daemon.draining");

  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kNotServing));
  EXPECT_EQ(CheckHealth(client.channel(), "store"), Serving::kNotServing);
  EXPECT_EQ(Get(*daemon, "/readyz").status, 503);
  EXPECT_THAT(Get(*daemon, "/readyz").body, HasSubstr("draining"));
  EXPECT_TRUE(client.GetServerInfo().response.draining());
  EXPECT_EQ(client.Acquire(AcquireOf("other")).reason, "SERVER_DRAINING");
  EXPECT_TRUE(daemon->Runs());

  redis_.Resume();

  const auto answer = in_flight.get();
  EXPECT_TRUE(answer.response.has_lease()) << answer.status.error_message();
  EXPECT_EQ(daemon->ExitCode(), 0);
  EXPECT_THAT(daemon->Stderr(), HasSubstr("event=daemon.drained"));
}

TEST_F(DrainTest, SecondSignalEndsItAtOnce) {
  const auto daemon = StartPatient("40s");
  auto in_flight = AcquireInFlight(*daemon, "n");
  daemon->Signal(SIGTERM);
  daemon->WaitForLog("event=daemon.draining");
  const auto begin = std::chrono::steady_clock::now();

  daemon->Signal(SIGTERM);

  EXPECT_EQ(daemon->ExitCode(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_THAT(daemon->Stderr(), HasSubstr("event=daemon.stopped_at_once"));
  EXPECT_EQ(in_flight.get().status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DrainTest, DrainThatTakesTooLongEndsWithZeroAndSaysSo) {
  std::ofstream(directory_.Path("config.yaml")) << "drain:\n  timeout: 300ms\n";
  const auto daemon = Start({"--config", directory_.Path("config.yaml"), "--redis", redis_.url()});
  WarmUp(*daemon);
  redis_.Pause();
  // The grant that may have been made is withdrawn, which the store does not confirm.
  const auto lost = LockClient(daemon->GrpcAddress()).Acquire(AcquireOf("n"));
  ASSERT_EQ(lost.reason, "OUTCOME_UNKNOWN") << lost.status.error_message();

  daemon->Signal(SIGTERM);

  EXPECT_EQ(daemon->ExitCode(), 0);
  EXPECT_THAT(daemon->Stderr(), HasSubstr("event=daemon.drain_timed_out"));
  EXPECT_THAT(daemon->Stderr(), HasSubstr("outstanding=1"));
}

TEST_F(DrainTest, WithdrawalInTheBackgroundEndsBeforeTheDaemon) {
  const auto daemon = Start({"--redis", redis_.url()});
  WarmUp(*daemon);
  redis_.Pause();
  v1::AcquireRequest request;
  request.set_name("n");
  request.mutable_ttl()->set_seconds(60);
  const auto lost = LockClient(daemon->GrpcAddress()).Acquire(request);
  ASSERT_EQ(lost.reason, "OUTCOME_UNKNOWN") << lost.status.error_message();
  daemon->Signal(SIGTERM);
  daemon->WaitForLog("event=daemon.draining");

  redis_.Resume();

  EXPECT_EQ(daemon->ExitCode(), 0);
  EXPECT_THAT(daemon->Stderr(), HasSubstr("event=daemon.drained"));
  const auto next = Start({"--redis", redis_.url()});
  EXPECT_TRUE(LockClient(next->GrpcAddress()).Acquire(AcquireOf("n")).response.has_lease());
}

}  // namespace
}  // namespace lockkeeper
