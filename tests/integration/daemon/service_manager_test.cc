// SPDX-License-Identifier: Apache-2.0
// What a service manager hears of the daemon, and that a stuck loop is noticed.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>

#include "integration/daemon/fixture.h"
#include "support/process/notify_socket.h"
#include "support/process/stopped_thread.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using support::NotifySocket;
using support::StoppedThread;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using ::testing::StartsWith;

class ServiceManagerDaemonTest : public DaemonTest {
 protected:
  std::unique_ptr<support::DaemonProcess> StartService(Environment environment) {
    environment.emplace_back("NOTIFY_SOCKET", socket_.address());
    return Start({"--redis", redis_.url()}, environment);
  }

  support::RedisServer redis_;
  NotifySocket socket_;
};

TEST_F(ServiceManagerDaemonTest, HearsOfStartReloadAndStop) {
  const auto daemon = StartService({});
  EXPECT_THAT(socket_.Next(), Optional("READY=1\nSTATUS=listens: grpc=" + daemon->GrpcAddress() +
                                       " http=" + daemon->HttpAddress()));

  daemon->Signal(SIGHUP);  // Without an audit trail; a terminal's would end the daemon.
  EXPECT_THAT(socket_.Next(), Optional(std::string("RELOADING=1")));
  EXPECT_THAT(socket_.Next(), Optional(StartsWith("READY=1\n")));

  daemon->Signal(SIGTERM);
  EXPECT_THAT(socket_.Next(), Optional(std::string("STOPPING=1\nEXTEND_TIMEOUT_USEC=35000000")))
      << "drain.timeout, and time to be taken down";
  EXPECT_EQ(daemon->ExitCode(), 0);
  EXPECT_EQ(socket_.Next(milliseconds(0)), std::nullopt) << "no watchdog was asked for";
}

TEST_F(ServiceManagerDaemonTest, StuckLoopIsNoLongerKeptAlive) {
  constexpr milliseconds kWatchdog{300};
  const auto daemon = StartService({{"WATCHDOG_USEC", "300000"}});
  EXPECT_THAT(socket_.Next(), Optional(StartsWith("READY=1")));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(socket_.Next(), Optional(std::string("WATCHDOG=1")));
  }

  {
    const auto loop = support::ThreadCalled("loop", daemon->pid());
    ASSERT_TRUE(loop);
    const StoppedThread stopped(*loop);
    if (!stopped.is_stopped()) GTEST_SKIP() << "ptrace is not allowed here: " << strerror(errno);
    while (socket_.Next(milliseconds(0))) {
    }
    EXPECT_EQ(Get(*daemon, "/healthz").status, 200) << "the other threads go on";
    EXPECT_EQ(socket_.Next(kWatchdog), std::nullopt);
  }

  EXPECT_THAT(socket_.Next(), Optional(std::string("WATCHDOG=1")));
}

TEST_F(ServiceManagerDaemonTest, ManagerThatCannotBeToldIsLoggedAndNoReasonToEnd) {
  const auto daemon =
      Start({"--redis", redis_.url()}, {{"NOTIFY_SOCKET", "run/notify"}, {"WATCHDOG_USEC", "1"}});
  daemon->WaitForLog("event=daemon.notify_failed");
  EXPECT_THAT(daemon->Stderr(), HasSubstr("NOTIFY_SOCKET is \\\"run/notify\\\""));
  EXPECT_TRUE(daemon->Runs());
}

}  // namespace
}  // namespace lockkeeper
