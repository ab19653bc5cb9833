// SPDX-License-Identifier: Apache-2.0
//
// A user of Redis with exactly the rights that the pages name: Redis refuses it nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "integration/daemon/fixture.h"
#include "redis/cluster/slot.h"
#include "support/process/cluster_set.h"
#include "support/process/replicated_servers.h"
#include "support/rpc/lock_requests.h"
#include "support/source_tree.h"

namespace lockkeeper {
namespace {

using support::AcquireOf;
using support::ClusterSet;
using support::LockClient;
using support::NewLeaseId;
using support::RedisServer;
using Strings = std::vector<std::string>;

class StoreRightsTest : public DaemonTest {
 protected:
  // Of docs/operating/redis.md, and these besides.
  static Strings UserWith(const Strings& rights) {
    const std::string command =
        support::FencedBlockIn(support::SectionOf("docs/operating/redis.md", "## Access"));
    Strings user = absl::StrSplit(command, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    user.insert(user.end(), rights.begin(), rights.end());
    return user;
  }

  static void Give(RedisServer& server, const Strings& user) {
    const redis::Reply reply = server.Run(user);
    ASSERT_EQ(reply.text, "OK") << reply.text;
  }

  static std::string AsUser(const std::string& url) {
    return absl::StrReplaceAll(url, {{"://", "://lockkeeper:PASSWORD@"}});
  }

  // What every kind of call needs, on a lock of its own.
  static void UseEverything(LockClient& client, const std::string& name) {
    const auto held = client.Acquire(AcquireOf(name));
    ASSERT_TRUE(held.response.has_lease()) << held.status.error_message();
    const v1::Lease& lease = held.response.lease();
    v1::AcquireRequest waits = AcquireOf(name, NewLeaseId());
    waits.mutable_wait_timeout()->set_nanos(50'000'000);
    EXPECT_TRUE(client.Acquire(waits).ok());
    EXPECT_TRUE(client.Extend(support::ExtendOf(name, lease.lease_id())).ok());
    EXPECT_TRUE(client.Fence(support::FenceOf(name, lease.fencing_token())).ok());
    EXPECT_TRUE(client.GetLock(name).ok());
    EXPECT_TRUE(client.ListLocks().ok());
    EXPECT_TRUE(client.Release(support::ReleaseOf(name, lease.lease_id())).ok());
  }

  // Redis has refused nobody anything.
  static void ExpectNothingRefused(RedisServer& server) {
    std::string refused;
    for (const redis::Reply& entry : server.Run({"ACL", "LOG"}).items) {
      for (const redis::Reply& field : entry.items) refused += field.text + " ";
    }
    EXPECT_EQ(refused, "");
  }
};

TEST_F(StoreRightsTest, ThoseOfThePageAreEnoughForOneRedis) {
  RedisServer server({.listening = support::Listening::kUnixSocketAndTcp});
  Give(server, UserWith({}));
  const auto daemon = Start({"--redis", AsUser(server.url())});
  const auto other = Start({"--redis", AsUser(server.url())});

  LockClient client(daemon->GrpcAddress());
  UseEverything(client, "a");

  ExpectNothingRefused(server);
}

TEST_F(StoreRightsTest, WithWaitTheyAreEnoughForReplicas) {
  support::ReplicatedServers servers;
  Give(servers.primary(), UserWith({"+wait"}));
  const auto daemon = Start(
      {"--redis", AsUser(servers.primary().url())},
      {{"LOCKKEEPERD_STORE_ASSURANCE", "replicas:1"}, {"LOCKKEEPERD_STORE_REQUEST_TIMEOUT", "4s"}});

  LockClient client(daemon->GrpcAddress());
  UseEverything(client, "a");

  ExpectNothingRefused(servers.primary());
}

// A lock of a slot that is being moved needs ASKING.
TEST_F(StoreRightsTest, ThoseOfThePageAreEnoughForACluster) {
  ClusterSet cluster({.primaries = 2});
  for (size_t i = 0; i < cluster.servers(); ++i) {
    Give(cluster.server(i), UserWith({"+cluster|nodes", "+asking"}));
  }
  const auto daemon = Start({"--redis", AsUser(cluster.url())});
  LockClient client(daemon->GrpcAddress());
  const std::string& tag = redis::TagOfPart(0);
  Strings in_part;
  for (int i = 0; in_part.size() < 3; ++i) {
    const std::string name = "lock " + std::to_string(i);
    UseEverything(client, name);
    const std::string record = "lk:{" + tag + "}{" + name + "}";
    if (cluster.server(0).Run({"EXISTS", record}).integer == 1) in_part.push_back(name);
  }

  std::vector<v1::Lease> held;
  for (const std::string& name : in_part) {
    held.push_back(client.Acquire(AcquireOf(name)).response.lease());
  }

  // When all its keys have moved, and it has not: then the server before sends calls on.
  const uint16_t slot = redis::SlotOf("{" + tag + "}");
  size_t sent_on = 0;
  cluster.MoveSlot(slot, 1, [&] {
    const Strings left = {"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)};
    if (cluster.server(0).Run(left).integer > 0) return;
    for (const v1::Lease& lease : held) {
      const auto extended = client.Extend(support::ExtendOf(lease.name(), lease.lease_id()));
      EXPECT_TRUE(extended.ok()) << extended.status.error_message();
      ++sent_on;
    }
  });
  UseEverything(client, "another");

  EXPECT_EQ(sent_on, held.size());
  for (size_t i = 0; i < cluster.servers(); ++i) ExpectNothingRefused(cluster.server(i));
}

}  // namespace
}  // namespace lockkeeper
