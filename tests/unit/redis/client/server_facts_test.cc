// SPDX-License-Identifier: Apache-2.0
#include "redis/client/server_facts.h"

#include <gtest/gtest.h>

namespace lockkeeper::redis {
namespace {

TEST(ServerFactsTest, WhatAServerTellsCanBeShownWhateverItIs) {
  ServerFacts facts;
  AddInfo("# Server\r\nredis_version:6.\xff\r\nrole:master\r\n", facts.info);

  const auto problem = Judge(facts, Expected::kServer);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->text,
            "runs Redis 6.\\xff, but Redis 7.0 or later, or Valkey, is needed: upgrade it");
}

}  // namespace
}  // namespace lockkeeper::redis
