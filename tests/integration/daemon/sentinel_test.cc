// SPDX-License-Identifier: Apache-2.0
//
// A daemon behind real Sentinels: how it starts, and what it answers without replicas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process/daemon_process.h"
#include "support/process/sentinel_set.h"
#include "support/process/temporary_directory.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {
namespace {

using support::DaemonProcess;
using support::SentinelSet;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kStoreUnusable = 69;

support::DaemonProcessOptions On(const std::string& url) {
  return {.program = LOCKKEEPERD_PROGRAM,
          .arguments = {"--redis", url, "--listen", "127.0.0.1:0", "--http-listen", ""},
          .environment = {{"LOCKKEEPERD_STORE_CONNECT_TIMEOUT", "20s"}}};
}

TEST(SentinelDaemonTest, OneReplicaIsEnoughAndWithoutAnyNothingIsGranted) {
  SentinelSet set;
  DaemonProcess daemon(On(set.url()));
  daemon.WaitUntilReady();
  support::LockClient client(daemon.GrpcAddress());
  EXPECT_THAT(client.GetServerInfo().response.store().address(),
              StartsWith("mymaster of 127.0.0.1:"));

  set.server(1).Kill();
  auto granted = client.Acquire(support::AcquireOf("a"));
  // On a busy machine the other one may be late for a moment.
  while (!granted.ok()) granted = client.Acquire(support::AcquireOf("a"));
  EXPECT_TRUE(granted.response.has_lease());

  set.server(2).Kill();
  set.server(0).AwaitInfo("replication", "connected_slaves", "0");
  support::Answer<v1::AcquireResponse> refused;
  do {  // Redis looks at its replicas once a second.
    refused = client.Acquire(support::AcquireOf("b", support::NewLeaseId()));
    if (refused.ok()) client.Release(support::ReleaseOf("b", refused.response.lease().lease_id()));
  } while (refused.ok());
  EXPECT_EQ(refused.reason, "STORE_UNAVAILABLE");
  EXPECT_THAT(refused.status.error_message(), HasSubstr("NOREPLICAS"));

  set.server(1).Restart(support::Data::kKeep);
  do {
    refused = client.Acquire(support::AcquireOf("c"));
  } while (!refused.ok());
  EXPECT_TRUE(refused.response.has_lease());
}

TEST(SentinelDaemonTest, PrimaryThatMayGoOnAloneEndsTheStart) {
  SentinelSet set({.replicas = 1, .sentinels = 1, .server_settings = {"min-replicas-to-write 0"}});
  {
    DaemonProcess daemon(On(set.url()));
    EXPECT_EQ(daemon.ExitCode(), kStoreUnusable);
    EXPECT_THAT(daemon.Stderr(), HasSubstr("min-replicas-to-write 1"));
  }
  auto options = On(set.url());
  options.environment.emplace_back("LOCKKEEPERD_STORE_ASSUME", "no_split_brain");
  DaemonProcess daemon(options);
  daemon.WaitUntilReady();
  EXPECT_THAT(daemon.Stderr(),
              AllOf(HasSubstr("daemon.promise_given_up"), HasSubstr("no_split_brain")));
}

TEST(SentinelDaemonTest, PasswordOfTheSentinelsIsChangedWhileTheDaemonRuns) {
  SentinelSet set({.sentinels = 1});
  support::RedisServer& sentinel = set.sentinel(0);
  sentinel.Run({"ACL", "SETUSER", "lockkeeper", "on", ">old-secret", "~*", "&*", "+@all"});
  const support::TemporaryDirectory directory;
  directory.Replace("password", "old-secret\n");
  auto options = On(set.url());
  options.environment.insert(
      options.environment.end(),
      {{"LOCKKEEPERD_STORE_SENTINEL_USER", "lockkeeper"},
       {"LOCKKEEPERD_STORE_SENTINEL_PASSWORD_FILE", directory.Path("password")}});
  DaemonProcess daemon(options);
  daemon.WaitUntilReady();

  sentinel.Run({"ACL", "SETUSER", "lockkeeper", "resetpass", ">new-secret"});
  sentinel.Run({"CLIENT", "KILL", "USER", "lockkeeper"});
  daemon.WaitForLog("WRONGPASS");
  directory.Replace("password", "new-secret\n");
  daemon.WaitForLog("files=sentinel_password");

  set.FailOver();
  support::LockClient client(daemon.GrpcAddress());
  while (!client.Acquire(support::AcquireOf("a")).ok()) {
  }
  EXPECT_THAT(daemon.Stderr(), Not(HasSubstr("-secret")));
}

TEST(SentinelDaemonTest, UnknownServiceEndsTheStart) {
  SentinelSet set({.replicas = 1, .sentinels = 1});
  std::string url = set.url();
  url.replace(url.rfind('/') + 1, std::string::npos, "mymistake");
  DaemonProcess daemon(On(url));

  EXPECT_EQ(daemon.ExitCode(), kStoreUnusable);
  EXPECT_THAT(daemon.Stderr(), HasSubstr("the services that it watches: \\\"mymaster"));
}

}  // namespace
}  // namespace lockkeeper
