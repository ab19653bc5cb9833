// SPDX-License-Identifier: Apache-2.0
// What a service manager hears, on a real datagram socket, and what a malformed environment costs.
#include "os/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "support/process/notify_socket.h"

namespace lockkeeper::os {
namespace {

using std::chrono::microseconds;
using support::NotifySocket;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::chrono::milliseconds kNow{0};

TEST(ServiceManagerTest, WithoutASocketNobodyIsTold) {
  const ServiceManager manager({.watchdog_usec = "1000000"});

  EXPECT_FALSE(manager.wants_news());
  EXPECT_EQ(manager.watchdog(), std::nullopt);
  EXPECT_EQ(manager.TellReady("listens"), std::nullopt);
  manager.KeepAlive();
}

class ServiceManagerSocketTest : public testing::TestWithParam<NotifySocket::Kind> {};

TEST_P(ServiceManagerSocketTest, HearsWhatTheServiceDoes) {
  NotifySocket socket(GetParam());
  const ServiceManager manager({.notify_socket = socket.address()});

  EXPECT_TRUE(manager.wants_news());
  EXPECT_EQ(manager.TellReady("listens: a"), std::nullopt);
  EXPECT_THAT(socket.Next(kNow), Optional(std::string("READY=1\nSTATUS=listens: a")));
  EXPECT_EQ(manager.TellReloading(), std::nullopt);
  EXPECT_THAT(socket.Next(kNow), Optional(std::string("RELOADING=1")));
  EXPECT_EQ(manager.TellStopping(std::chrono::milliseconds(30'500)), std::nullopt);
  EXPECT_THAT(socket.Next(kNow), Optional(std::string("STOPPING=1\n"
                                                      "EXTEND_TIMEOUT_USEC=30500000")));
  manager.KeepAlive();
  EXPECT_THAT(socket.Next(kNow), Optional(std::string("WATCHDOG=1")));
  EXPECT_EQ(socket.Next(kNow), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Sockets, ServiceManagerSocketTest,
                         testing::Values(NotifySocket::Kind::kPath, NotifySocket::Kind::kAbstract),
                         [](const auto& tested) {
                           return tested.param == NotifySocket::Kind::kPath ? "Path" : "Abstract";
                         });

TEST(ServiceManagerTest, KeepAliveDoesNotWaitForRoomInTheSocket) {
  NotifySocket socket;
  const ServiceManager manager({.notify_socket = socket.address()});

  constexpr int kMoreThanAQueueHolds = 10'000;  // net.unix.max_dgram_qlen is 10 or 512.
  for (int i = 0; i < kMoreThanAQueueHolds; ++i) manager.KeepAlive();

  int heard = 0;
  while (socket.Next(kNow)) ++heard;
  EXPECT_GT(heard, 0);
  EXPECT_LT(heard, kMoreThanAQueueHolds) << "the queue did not fill: the test shows nothing";
}

TEST(ServiceManagerTest, ManagerThatIsGoneIsAProblem) {
  std::string address;
  {
    const NotifySocket socket;
    address = socket.address();
  }
  const ServiceManager manager({.notify_socket = address});

  EXPECT_THAT(manager.TellReady(""), Optional(HasSubstr("No such file")));
  manager.KeepAlive();
}

TEST(ServiceManagerTest, MalformedSocketIsAProblemThatNamesTheVariable) {
  EXPECT_THAT(ServiceManager({.notify_socket = "vsock:2:1234"}).TellReady(""),
              Optional(HasSubstr("NOTIFY_SOCKET is \"vsock:2:1234\", and must begin with / or @")));
  EXPECT_THAT(ServiceManager({.notify_socket = "/" + std::string(107, 'x')}).TellReady(""),
              Optional(HasSubstr("NOTIFY_SOCKET has 108 bytes, and may have 107")));
}

TEST(ServiceManagerTest, WatchdogIsThatOfThisProcess) {
  const NotifySocket socket;
  const std::string pid = std::to_string(getpid());
  const auto watchdog = [&](const std::string& usec, const std::string& of) {
    return ServiceManager({socket.address(), usec, of}).watchdog();
  };

  EXPECT_EQ(watchdog("3000000", ""), microseconds(3'000'000));
  EXPECT_EQ(watchdog("3000000", pid), microseconds(3'000'000));
  EXPECT_EQ(watchdog("3000000", std::to_string(getppid())), std::nullopt);
  EXPECT_EQ(watchdog("", pid), std::nullopt);
}

TEST(ServiceManagerTest, MalformedWatchdogIsAProblemThatNamesTheVariable) {
  const NotifySocket socket;
  for (const char* malformed : {"0", "-1", "3s", " 3", "99999999999999999999"}) {
    const ServiceManager usec({socket.address(), malformed, ""});
    EXPECT_EQ(usec.watchdog(), std::nullopt) << malformed;
    EXPECT_THAT(usec.TellReady(""), Optional(HasSubstr("WATCHDOG_USEC is"))) << malformed;
    const ServiceManager pid({socket.address(), "3000000", malformed});
    EXPECT_EQ(pid.watchdog(), std::nullopt) << malformed;
    EXPECT_THAT(pid.TellReady(""), Optional(HasSubstr("WATCHDOG_PID is"))) << malformed;
  }
}

TEST(ServiceManagerTest, EnvironmentIsTakenAway) {
  setenv("NOTIFY_SOCKET", "/run/notify", 1);
  setenv("WATCHDOG_USEC", "5", 1);
  setenv("WATCHDOG_PID", "6", 1);

  const ServiceEnvironment taken = TakeServiceEnvironment();

  EXPECT_EQ(taken.notify_socket, "/run/notify");
  EXPECT_EQ(taken.watchdog_usec, "5");
  EXPECT_EQ(taken.watchdog_pid, "6");
  for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    EXPECT_EQ(std::getenv(variable), nullptr) << variable;
  }
}

}  // namespace
}  // namespace lockkeeper::os
