// SPDX-License-Identifier: Apache-2.0
//
// Real servers that locks must not be kept on: each is told with the setting to change, and taken
// as soon as it is changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node_harness.h"
#include "support/process/redis_server.h"

namespace lockkeeper::redis {
namespace {

using support::Listening;
using support::RedisServer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

NodeHealth AwaitRefused(NodeHarness& harness) {
  return harness.AwaitHealth([](const NodeHealth& health) { return health.refused; });
}

TEST(RefusalTest, EvictingServerHasAProblemUntilItsPolicyIsChanged) {
  RedisServer server({.settings = {"maxmemory 100mb", "maxmemory-policy allkeys-lru"}});
  NodeHarness harness(server.url());

  const NodeHealth health = AwaitRefused(harness);
  EXPECT_TRUE(health.reachable) << "holders need it";
  EXPECT_EQ(health.problem,
            server.socket_path() +
                " may evict locks, its maxmemory-policy is allkeys-lru: set "
                "`maxmemory-policy noeviction` (or `maxmemory 0`), or name what is given up with "
                "`store.assume: [no_eviction]`");
  EXPECT_EQ(ReasonName(harness.Ask({"PING"})), "");

  server.Run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_EQ(harness.AwaitHealth([](const NodeHealth& now) { return !now.refused; }).problem, "");
}

TEST(RefusalTest, ReplicaIsRefusedUntilItIsPromoted) {
  RedisServer primary({.listening = Listening::kUnixSocketAndTcp});
  const std::string port = std::to_string(primary.port());
  RedisServer replica({.settings = {"replicaof 127.0.0.1 " + port}});
  NodeHarness harness(replica.url());

  EXPECT_EQ(AwaitRefused(harness).problem,
            replica.socket_path() + " is a replica of 127.0.0.1:" + port +
                ": name the primary, or make this server one with `REPLICAOF NO ONE`");

  replica.Run({"REPLICAOF", "NO", "ONE"});
  harness.AwaitReachable();
}

TEST(RefusalTest, PrimaryThatIsDemotedIsNoticedAtItsFirstRefusalToWrite) {
  RedisServer primary({.listening = Listening::kUnixSocketAndTcp});
  RedisServer server;
  NodeHarness harness(server.url());
  harness.AwaitReachable();

  server.Run({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
  const auto answer = harness.Ask({"SET", "name", "value"});
  EXPECT_THAT(answer->text, StartsWith("READONLY"));
  EXPECT_THAT(AwaitRefused(harness).problem, HasSubstr("is a replica of"));

  server.Run({"REPLICAOF", "NO", "ONE"});
  harness.AwaitReachable();
}

TEST(RefusalTest, PasswordThatIsMissingWrongOrSuperfluousIsRefused) {
  RedisServer locked({.settings = {"requirepass s3cret"}});
  RedisServer open;
  NodeHarness missing(locked.url());
  NodeHarness wrong("unix://:wrong@" + locked.socket_path());
  NodeHarness superfluous("unix://:s3cret@" + open.socket_path());
  NodeHarness right("unix://:s3cret@" + locked.socket_path());

  EXPECT_THAT(AwaitRefused(missing).problem, HasSubstr("demands a password"));
  EXPECT_THAT(AwaitRefused(wrong).problem, HasSubstr("answered AUTH with: WRONGPASS"));
  EXPECT_THAT(AwaitRefused(superfluous).problem,
              HasSubstr("without any password configured for the default user"));
  right.AwaitReachable();
}

TEST(RefusalTest, UserWithoutTheNeededRightsIsRefusedByTheirName) {
  RedisServer server({.settings = {"user locks on nopass ~* +@all -info"}});
  NodeHarness harness("unix://locks:x@" + server.socket_path());

  EXPECT_THAT(AwaitRefused(harness).problem, HasSubstr("answered INFO with: NOPERM"));

  server.Run({"ACL", "SETUSER", "locks", "+info", "-config", "-role", "-client"});
  EXPECT_EQ(harness.AwaitReachable().assurance, core::Assurance::kMemory);
}

TEST(RefusalTest, MissingRightIsToldWithTheRuleThatAddsIt) {
  RedisServer server({.settings = {"user locks on nopass ~lk:* &lk:* +@all"}});
  const auto locks_in = [](const std::string& prefix) {
    return [prefix](RedisNodeOptions& options) {
      options.key_prefix = prefix;
      options.scripts = AllScripts();
    };
  };
  NodeHarness harness("unix://locks:x@" + server.socket_path(), locks_in("lk:"));
  NodeHarness elsewhere("unix://locks:x@" + server.socket_path(), locks_in("other:"));
  const auto is_refused = [](const NodeHealth& health) { return health.refused; };

  EXPECT_THAT(elsewhere.AwaitHealth(is_refused).problem,
              HasSubstr("add &other:* +del +get +getrange +mget"));
  EXPECT_THAT(elsewhere.AwaitHealth(is_refused).problem, HasSubstr(" ~other:* ("));
  harness.AwaitReachable();
  EXPECT_EQ(harness.AwaitReachable().problem, "");

  server.Run({"ACL", "SETUSER", "locks", "-setrange", "-pttl"});
  server.Run({"SCRIPT", "FLUSH"});
  const NodeHealth health = harness.AwaitHealth(is_refused);
  EXPECT_TRUE(health.reachable) << "holders need it";
  EXPECT_EQ(health.problem, server.socket_path() +
                                " does not allow the daemon's user all that locks need: let "
                                "`ACL SETUSER` add +pttl +setrange (docs/operating/redis.md)");

  server.Run({"ACL", "SETUSER", "locks", "+setrange", "+pttl"});
  EXPECT_EQ(harness.AwaitHealth([](const NodeHealth& now) { return !now.refused; }).problem, "");
  EXPECT_THAT(server.Run({"ACL", "LOG"}).items, testing::IsEmpty()) << "nothing was tried";
}

TEST(RefusalTest, UnknownDatabaseIsRefused) {
  RedisServer server({.settings = {"databases 4"}});
  NodeHarness harness(server.url() + "?db=4");

  EXPECT_EQ(AwaitRefused(harness).problem,
            server.socket_path() + " answered SELECT 4 with: ERR DB index is out of range");
}

TEST(RefusalTest, ServerOfAClusterIsRefusedUnlessTheUrlNamesOne) {
  RedisServer server({.in_cluster = true, .listening = support::Listening::kUnixSocketAndTcp});
  NodeHarness harness(server.url());

  EXPECT_THAT(AwaitRefused(harness).problem, HasSubstr("name it by redis+cluster://host:port"));
}

}  // namespace
}  // namespace lockkeeper::redis
