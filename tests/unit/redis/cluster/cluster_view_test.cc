// SPDX-License-Identifier: Apache-2.0
#include "redis/cluster/cluster_view.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::string_view kThree =
    "07c37df 10.0.0.1:6379@16379 myself,master - 0 1426238317239 4 connected 0-5460 5462\n"
    "67ed2db 10.0.0.2:6379@16379,two.example master - 0 1426238316232 2 connected 5461 5463-10922 "
    "[93-<-07c37df]\n"
    "6ec2392 10.0.0.3:6379@16379,,shard-id=1 master - 0 1426238318243 3 connected 10923-16383\n"
    "824fe11 10.0.0.4:6379@16379 slave 67ed2db 0 1426238316232 2 connected\n"
    "e7d1eec 10.0.0.5:6379@16379 master,fail - 0 1426238316232 9 disconnected 0-100\n"
    "a5a1eec :0@0 master,noaddr - 0 0 1 disconnected\n";

const RedisUrl kAsked{.host = "asked.example", .port = 6379};

ClusterView Read(std::string_view text, const RedisUrl& asked = kAsked) {
  const auto view = ReadClusterNodes(text, asked);
  EXPECT_TRUE(view.has_value()) << text;
  return view.value_or(ClusterView());
}

TEST(ClusterViewTest, PrimariesThatHaveNotFailedAreRead) {
  const ClusterView view = Read(kThree);

  ASSERT_EQ(view.primaries.size(), 3u);
  EXPECT_EQ(view.primaries[0].id, "07c37df");
  EXPECT_EQ(view.primaries[0].host, "10.0.0.1");
  EXPECT_EQ(view.primaries[0].port, 6379);
  EXPECT_EQ(view.primaries[0].epoch, 4);
  EXPECT_THAT(view.primaries[0].slots, ElementsAre(Pair(0, 5460), Pair(5462, 5462)));
  EXPECT_THAT(view.primaries[1].slots, ElementsAre(Pair(5461, 5461), Pair(5463, 10922)))
      << "a slot on its way is in no range";
  EXPECT_TRUE(view.primaries[0].Claims(5462));
  EXPECT_FALSE(view.primaries[0].Claims(5461));
}

TEST(ClusterViewTest, ThroughTlsServersAreCalledByTheirNames) {
  RedisUrl asked = kAsked;
  asked.tls = true;
  const ClusterView view = Read(kThree, asked);
  EXPECT_EQ(view.primaries[0].host, "10.0.0.1");
  EXPECT_EQ(view.primaries[1].host, "two.example");
  EXPECT_EQ(view.primaries[2].host, "10.0.0.3");
}

TEST(ClusterViewTest, ServerThatDoesNotKnowItsAddressIsWhereItWasAsked) {
  const ClusterView view = Read("07c37df :6379@16379 myself,master - 0 0 0 connected 0-16383\n");
  ASSERT_EQ(view.primaries.size(), 1u);
  EXPECT_EQ(view.primaries[0].host, "asked.example");
}

TEST(ClusterViewTest, PrimaryWithoutSlotsIsKnownToo) {
  const ClusterView view = Read("07c37df 10.0.0.1:6379@1 myself,master - 0 0 0 connected\n");
  ASSERT_EQ(view.primaries.size(), 1u);
  EXPECT_THAT(view.primaries[0].slots, IsEmpty());
}

TEST(ClusterViewTest, V6AddressHasNoBrackets) {
  const ClusterView view = Read("07c37df ::1:6379@16379 myself,master - 0 0 0 connected 5\n");
  ASSERT_EQ(view.primaries.size(), 1u);
  EXPECT_EQ(view.primaries[0].host, "::1");
  EXPECT_EQ(view.primaries[0].port, 6379);
}

TEST(ClusterViewTest, WhatIsNoSuchAnswerSaysNothing) {
  for (const std::string text :
       {"", "\n", "OK", "a b c", "07c37df 10.0.0.1 myself,master - 0 0 0 connected",
        "07c37df 10.0.0.1:x@1 myself,master - 0 0 0 connected",
        "07c37df 10.0.0.1:70000@1 myself,master - 0 0 0 connected",
        "07c37df 10.0.0.1:1@1 myself,master - 0 0 epoch connected",
        "07c37df 10.0.0.1:1@1 master - 0 0 0 connected"}) {
    EXPECT_FALSE(ReadClusterNodes(text, kAsked)) << text;
  }
}

// A server that was cut off still claims what it had.
TEST(ClusterViewTest, HighestEpochServesTheSlot) {
  const ClusterView old = Read("aa 10.0.0.1:1@1 myself,master - 0 0 3 connected 0-16383\n");
  const ClusterView now = Read("bb 10.0.0.2:1@1 myself,master - 0 0 4 connected 0-100\n");

  EXPECT_EQ(OwnerOf(100, {&old, &now})->host, "10.0.0.2");
  EXPECT_EQ(OwnerOf(100, {&now, &old})->host, "10.0.0.2");
  EXPECT_EQ(OwnerOf(101, {&old, &now})->host, "10.0.0.1");
  EXPECT_EQ(OwnerOf(101, {&now}), nullptr);
  EXPECT_EQ(OwnerOf(0, {}), nullptr);
}

TEST(RedirectionTest, SlotAndAddressAreRead) {
  const auto moved = ReadRedirection("MOVED 3999 127.0.0.1:6381");
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->host, "127.0.0.1");
  EXPECT_EQ(moved->port, 6381);
  EXPECT_EQ(ReadRedirection("ASK 0 ::1:6381")->host, "::1");
  EXPECT_EQ(ReadRedirection("MOVED 1 :6381")->host, "");
}

TEST(RedirectionTest, AnythingElseIsNone) {
  for (const std::string error :
       {"MOVED", "MOVED 3999", "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED 1 h", "MOVED 1 h:0",
        "TRYAGAIN Multiple keys request during rehashing of slot", "MOVED 1 h:1 x"}) {
    EXPECT_FALSE(ReadRedirection(error)) << error;
  }
}

}  // namespace
}  // namespace lockkeeper::redis
