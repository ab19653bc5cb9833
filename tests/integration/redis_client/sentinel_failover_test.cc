// SPDX-License-Identifier: Apache-2.0
//
// A RedisNode behind real Sentinels: it finds the primary, follows failovers, and does not go back
// to a primary that returns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sentinel_harness.h"
#include "support/process/sentinel_set.h"
#include "tls_servers.h"

namespace lockkeeper::redis {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using support::Data;
using support::Listening;
using support::SentinelSet;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string AddressOf(const support::RedisServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

// A write that only a primary with replicas takes, and where it went.
void ExpectWriteReaches(NodeHarness& node, const support::RedisServer& server,
                        const std::string& value) {
  auto answer = node.Ask({"SET", "written", value});
  while (answer.ok() && answer->text.starts_with("NOREPLICAS")) {
    answer = node.Ask({"SET", "written", value});
  }
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text, "OK");
  EXPECT_EQ(server.Run({"GET", "written"}).text, value);
}

TEST(SentinelFailoverTest, AnnouncedFailoverIsFollowedAtOnceAndByAllConnections) {
  SentinelSet set;
  // Without announcements it would be noticed only when a connection breaks, or never.
  SentinelHarness harness(
      set.url(),
      [](SentinelOptions& options) {
        options.times.ask_interval = minutes(5);
        options.times.answer_lifetime = minutes(10);
      },
      [](RedisNodeOptions& options) { options.connections = 3; });
  harness.AwaitPrimary(AddressOf(set.server(0)));
  ExpectWriteReaches(harness.node(), set.server(0), "before");

  const size_t primary = set.FailOver();

  ASSERT_NE(primary, 0u);
  harness.AwaitPrimary(AddressOf(set.server(primary)));
  ExpectWriteReaches(harness.node(), set.server(primary), "after");
  CountingObserver& observed = harness.node().observed();
  const std::lock_guard lock(observed.mutex);
  EXPECT_THAT(
      observed.losses,
      AllOf(SizeIs(3), Each(HasSubstr("the Sentinels name " + AddressOf(set.server(primary))))))
      << "before the old one closed them";
}

TEST(SentinelFailoverTest, PrimaryThatReturnsIsNotTakenForThePrimary) {
  SentinelSet set({.down_after = seconds(5)});
  SentinelHarness harness(set.url());
  harness.AwaitPrimary(AddressOf(set.server(0)));

  set.server(0).Kill();
  const size_t primary = set.AwaitPrimaryOtherThan(0);
  harness.AwaitPrimary(AddressOf(set.server(primary)));
  set.server(0).Restart(Data::kKeep);  // It still thinks that it is the primary.
  set.AwaitInStep();

  ExpectWriteReaches(harness.node(), set.server(primary), "after");
  EXPECT_EQ(harness.said().primaries(),
            (std::vector{AddressOf(set.server(0)), AddressOf(set.server(primary))}));
}

TEST(SentinelFailoverTest, PrimaryThatGoesOnWithoutReplicasIsRefused) {
  SentinelSet set({.replicas = 1, .sentinels = 1, .server_settings = {"min-replicas-to-write 0"}});
  SentinelHarness harness(set.url());

  const NodeHealth health =
      harness.node().AwaitHealth([](const NodeHealth& now) { return now.refused; });

  EXPECT_THAT(health.problem, HasSubstr("set `min-replicas-to-write 1`"));
  EXPECT_TRUE(health.reachable) << "holders go on";
}

TEST(SentinelFailoverTest, SentinelsAndServersHaveTheirOwnPasswords) {
  SentinelSet set(
      {.replicas = 1,
       .sentinels = 1,
       .server_settings = {"requirepass server", "masterauth server"},
       .sentinel_settings = {"requirepass sentinel", "sentinel auth-pass mymaster server"}});
  const std::string url = set.url();
  {
    SentinelHarness harness(url);
    const NodeHealth health =
        harness.node().AwaitHealth([](const NodeHealth& now) { return now.refused; });
    EXPECT_THAT(health.problem, HasSubstr("demands a password, which is not that of Redis"));
    EXPECT_FALSE(health.reachable);
  }
  std::string with_password = url;
  with_password.insert(with_password.find("://") + 3, ":server@");
  SentinelHarness harness(with_password, [](SentinelOptions& options) {
    for (RedisUrl& sentinel : options.sentinels) sentinel.password = text::Secret("sentinel");
  });
  harness.AwaitPrimary(AddressOf(set.server(0)));
  EXPECT_EQ(harness.node().Ask({"PING"})->text, "PONG");
}

TEST(SentinelFailoverTest, EverythingWorksThroughTls) {
  support::TestAuthority authority;
  const std::vector<std::string> settings =
      TlsSettings(authority.IssueForLocalhost(), AskClients::kNo, authority);
  SentinelSet set({.sentinels = 1,
                   .listening = Listening::kUnixSocketAndTls,
                   .server_settings = settings,
                   .sentinel_settings = settings});
  const auto trust = LoadTls({.ca_file = authority.ca_file()});
  SentinelHarness harness(
      set.url(), [&](SentinelOptions& options) { options.tls = trust; },
      [&](RedisNodeOptions& options) { options.tls = trust; });
  harness.AwaitPrimary(AddressOf(set.server(0)));

  const size_t primary = set.FailOver();

  harness.AwaitPrimary(AddressOf(set.server(primary)));
  ExpectWriteReaches(harness.node(), set.server(primary), "after");
}

}  // namespace
}  // namespace lockkeeper::redis
