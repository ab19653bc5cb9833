// SPDX-License-Identifier: Apache-2.0
// What a daemon says and serves once it has started.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "integration/daemon/fixture.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/reflection_client.h"

namespace lockkeeper {
namespace {

using support::AcquireOf;
using support::CheckHealth;
using support::ExtendOf;
using support::LockClient;
using support::RedisServer;
using support::Serving;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::MatchesRegex;
using testing::SizeIs;

class StartTest : public DaemonTest {
 protected:
  RedisServer redis_;
};

TEST_F(StartTest, ReadyLineIsTheOnlyLineOnStdout) {
  const auto daemon = Start({"--redis", redis_.url()});
  EXPECT_THAT(daemon->Stdout(), MatchesRegex("lockkeeperd ready grpc=127\\.0\\.0\\.1:[1-9][0-9]* "
                                             "http=127\\.0\\.0\\.1:[1-9][0-9]*\n"));

  LockClient client(daemon->GrpcAddress());
  EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_lease());
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->ExitCode(), 0);
  EXPECT_THAT(daemon->Stdout(), ContainsRegex("^[^\n]*\n$"));
}

TEST_F(StartTest, WhatSettingsGiveUpIsLogged) {
  redis_.Run({"CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"});
  const std::string file = directory_.Path("config.yaml");
  std::ofstream(file) << "store:\n  assume: [no_eviction, durable]\n  quarantine: \"off\"\n";

  const auto daemon = Start({"--redis", redis_.url(), "--config", file});

  for (const std::string given_up : {"store.assume has no_eviction", "store.assume has durable",
                                     "store.quarantine is off", "store.first_use_wait is 0s"}) {
    daemon->WaitForLog("detail=\"" + given_up);
  }
  EXPECT_THAT(daemon->Stderr(), HasSubstr("event=daemon.promise_given_up"));
  EXPECT_TRUE(LockClient(daemon->GrpcAddress()).Acquire(AcquireOf("n")).response.has_lease());
}

TEST_F(StartTest, NothingIsGivenUpByDefault) {
  const auto daemon =
      Start({"--redis", redis_.url()}, {{"LOCKKEEPERD_STORE_FIRST_USE_WAIT", "3s"}});

  EXPECT_THAT(daemon->Stderr(), testing::Not(HasSubstr("daemon.promise_given_up")));
}

TEST_F(StartTest, AllAddressesServe) {
  const std::string socket = "unix:" + directory_.Path("grpc.sock");
  const auto daemon = Launch({"--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--listen", socket,
                              "--http-listen", "", "--redis", redis_.url()});
  daemon->WaitUntilReady();

  EXPECT_THAT(daemon->Stdout(),
              MatchesRegex("lockkeeperd ready grpc=127\\.0\\.0\\.1:[0-9]+,\\[::1\\]:[0-9]+," +
                           socket + "\n"));
  ASSERT_THAT(daemon->GrpcAddresses(), SizeIs(3));
  for (const std::string& address : daemon->GrpcAddresses()) {
    EXPECT_TRUE(LockClient(address).GetServerInfo().status.ok()) << address;
  }

  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->ExitCode(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(StartTest, StaleUnixSocketIsReplaced) {
  const std::string path = directory_.Path("grpc.sock");
  {
    const auto killed = Start({"--listen", "unix:" + path, "--redis", redis_.url()});
    killed->Signal(SIGKILL);
    killed->WaitForEnd();
  }
  ASSERT_TRUE(std::filesystem::exists(path));

  const auto daemon = Start({"--listen", "unix:" + path, "--redis", redis_.url()});

  EXPECT_TRUE(LockClient("unix:" + path).GetServerInfo().status.ok());
}

TEST_F(StartTest, ReadyDaemonServesAtOnce) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient client(daemon->GrpcAddress());

  EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_lease());
  for (const std::string name :
       {"", "lockkeeper.v1.LockService", "lockkeeper.admin.v1.AdminService", "store"}) {
    EXPECT_EQ(CheckHealth(client.channel(), name), Serving::kServing) << name;
  }
  EXPECT_EQ(CheckHealth(client.channel(), "other"), Serving::kUnknownName);
  EXPECT_EQ(Get(*daemon, "/healthz").status, 200);
  EXPECT_EQ(Get(*daemon, "/readyz").status, 200);
  EXPECT_THAT(Get(*daemon, "/metrics").body, HasSubstr("lockkeeper_store_up 1"));
}

TEST_F(StartTest, ReflectionListsTheServices) {
  const auto daemon = Start({"--redis", redis_.url()});
  EXPECT_THAT(support::ListServices(LockClient(daemon->GrpcAddress()).channel()),
              IsSupersetOf({"grpc.health.v1.Health", "lockkeeper.admin.v1.AdminService",
                            "lockkeeper.v1.LockService"}));
}

TEST_F(StartTest, ServerInfoTellsStoreAndLimits) {
  std::ofstream(directory_.Path("config.yaml"))
      << "lease:\n  max_ttl: 45s\nstore:\n  record_retention: 90s\n";
  const auto daemon = Start({"--config", directory_.Path("config.yaml"), "--redis", redis_.url()});

  const auto info = LockClient(daemon->GrpcAddress()).GetServerInfo().response;

  EXPECT_THAT(info.daemon_id(), MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(info.store().kind(), "redis");
  EXPECT_EQ(info.store().address(), redis_.socket_path());
  EXPECT_TRUE(info.store().reachable());
  EXPECT_THAT(info.store().server_version(), HasSubstr("."));
  EXPECT_EQ(info.store().assurance(), v1::ASSURANCE_MEMORY);
  EXPECT_EQ(info.max_ttl().seconds(), 45);
  EXPECT_EQ(info.record_retention().seconds(), 90);
  EXPECT_FALSE(info.draining());
}

TEST_F(StartTest, EmbeddedStoreKeepsLocksOverARestart) {
  const Arguments arguments = {"--embedded", "--data-dir", directory_.Path("data")};
  std::string lease_id;
  {
    const auto first = Start(arguments);
    EXPECT_THAT(first->Stderr(), HasSubstr("event=embedded.private"));
    const auto answer = LockClient(first->GrpcAddress()).Acquire(AcquireOf("n"));
    ASSERT_TRUE(answer.response.has_lease()) << answer.status.error_message();
    EXPECT_EQ(answer.response.lease().assurance(), v1::ASSURANCE_DISK);
    lease_id = answer.response.lease().lease_id();
    first->Signal(SIGTERM);
    EXPECT_EQ(first->ExitCode(), 0);
  }

  const auto second = Start(arguments);
  LockClient client(second->GrpcAddress());

  EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_contention());
  EXPECT_TRUE(client.Extend(ExtendOf("n", lease_id)).status.ok());
}

}  // namespace
}  // namespace lockkeeper
