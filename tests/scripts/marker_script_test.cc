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
    return connection.Run(
        {"EVALSHA", redis::kMarkerScript.sha1, "1", "lk:store", "", "", "0", "0", "0"});
  }

  // Writes a marker into an empty store, if its clock reads a time from `earliest` to `latest`.
  bool Writes(int64_t earliest, int64_t latest) {
    server_.Run({"DEL", "lk:store"});
    connection_.Run({"EVALSHA", redis::kMarkerScript.sha1, "1", "lk:store", "", "a marker", "0",
                     std::to_string(earliest), std::to_string(latest)});
    return server_.Run({"EXISTS", "lk:store"}).integer == 1;
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

TEST_P(MarkerScriptTest, MarkerIsWrittenOnlyInTime) {
  constexpr int64_t kMinute = 60'000'000;
  const int64_t now = Look(connection_).items.at(0).integer;

  EXPECT_TRUE(Writes(now - kMinute, now + kMinute));
  EXPECT_FALSE(Writes(now - kMinute, now - 1)) << "it was on its way for too long";
  EXPECT_FALSE(Writes(now + kMinute, now + 2 * kMinute)) << "the clock was set back";
}

INSTANTIATE_TEST_SUITE_P(Servers, MarkerScriptTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
