// SPDX-License-Identifier: Apache-2.0
// What a service manager hears of the daemon, and that a stuck loop is noticed.
#include <gmock/gmock.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "integration/daemon/fixture.h"
#include "support/process/notify_socket.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using support::NotifySocket;
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

// Stops one thread of another process, until this object is gone.
class StoppedThread {
 public:
  explicit StoppedThread(pid_t thread) : thread_(thread) {
    if (ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) return;
    is_traced_ = true;
    if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) return;
    is_stopped_ = waitpid(thread_, nullptr, __WALL) == thread_;
  }
  ~StoppedThread() {
    if (is_traced_) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
  }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  bool is_stopped() const { return is_stopped_; }

 private:
  const pid_t thread_;
  bool is_traced_ = false;
  bool is_stopped_ = false;
};

std::optional<pid_t> ThreadCalled(const std::string& name, pid_t process) {
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm"), found);
    if (found == name) return std::stoi(task.path().filename());
  }
  return std::nullopt;
}

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
    const auto loop = ThreadCalled("loop", daemon->pid());
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
