// SPDX-License-Identifier: Apache-2.0
//
// What the script of the marker takes for one that cannot be read, on every server: no user's want
// of rights, since all daemons would be held up by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/scripts.h"
#include "support/process/redis_connection.h"
#include "support/process/redis_server.h"

namespace lockkeeper::support {
namespace {

using redis::Reply;

class MarkerScriptTest : public testing::TestWithParam<std::string> {
 protected:
  MarkerScriptTest() { server_.Run({"SCRIPT", "LOAD", std::string(redis::kMarkerScript.text)}); }

  static Reply Look(RedisConnection& connection) {
    return connection.Run({"EVALSHA", redis::kMarkerScript.sha1, "1", "lk:store", "", "", "0"});
  }

  RedisServer server_{{.program = GetParam()}};
  RedisConnection connection_{server_.socket_path()};
};

TEST_P(MarkerScriptTest, MarkerOfAnotherTypeIsSeenAsOneThatCannotBeRead) {
  server_.Run({"RPUSH", "lk:store", "a"});
  EXPECT_EQ(Look(connection_).items.at(1).text, "another type");
}

TEST_P(MarkerScriptTest, UserWhoMayNotReadItIsToldSo) {
  server_.Run({"SET", "lk:store", "a marker"});
  server_.Run({"ACL", "SETUSER", "poor", "on", "nopass", "~*", "+@all", "-get"});
  connection_.Run({"AUTH", "poor", "any"});

  const Reply reply = Look(connection_);

  EXPECT_EQ(reply.type, Reply::Type::kError);
  EXPECT_THAT(reply.text, testing::ContainsRegex("[Uu]ser")) << "servers have their own words";
}

INSTANTIATE_TEST_SUITE_P(Servers, MarkerScriptTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
