// SPDX-License-Identifier: Apache-2.0
#include "redis/client/server_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockkeeper::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A server that answers CONFIG GET with these names and values.
ServerFacts WithSettings(const std::vector<std::string>& words) {
  ServerFacts facts;
  facts.config = Reply{.type = Reply::Type::kArray};
  for (const std::string& word : words) {
    facts.config->items.push_back({.type = Reply::Type::kText, .text = word});
  }
  return facts;
}

TEST(ServerFactsTest, WhatAServerTellsCanBeShownWhateverItIs) {
  ServerFacts facts;
  AddInfo("# Server\r\nredis_version:6.\xff\r\nrole:master\r\n", facts.info);

  const auto problem = Judge(facts, Expected::kServer);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->text,
            "runs Redis 6.\\xff, but Redis 7.0 or later, or Valkey, is needed: upgrade it");
}

// docs/operating/cluster.md: an old primary of a Cluster stops after its node timeout, and notices
// that up to 2 s later.
TEST(ServerFactsTest, IsolationInAClusterIsItsNodeTimeoutOrTheLongestThatIsAllowed) {
  EXPECT_EQ(IsolationInCluster(WithSettings({"cluster-node-timeout", "15000"})), seconds(17));
  EXPECT_EQ(IsolationInCluster(WithSettings({"cluster-node-timeout", "1500"})),
            milliseconds(3'500));
  EXPECT_EQ(IsolationInCluster(WithSettings({})), seconds(60));
  EXPECT_EQ(IsolationInCluster({}), seconds(60)) << "the user may not ask";
}

TEST(ServerFactsTest, ClusterWithALongerNodeTimeoutHasASettingProblem) {
  const auto problem = [](const std::string& timeout) {
    ServerFacts facts = WithSettings({"cluster-node-timeout", timeout});
    AddInfo("maxmemory:0\r\n", facts.info);
    return SettingProblem(facts, {}, Expected::kClusterPrimary);
  };
  EXPECT_EQ(problem("58000"), "");
  EXPECT_NE(problem("58001").find("set `cluster-node-timeout` to 58000 at most"),
            std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::redis
