// SPDX-License-Identifier: Apache-2.0
//
// The script that tells of missing rights knows each command of the other scripts, on every server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "redis/scripts.h"
#include "support/process/redis_connection.h"
#include "support/process/redis_server.h"

namespace lockkeeper::support {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using Strings = std::vector<std::string>;

// In small letters.
std::set<std::string> CommandsOfAllScripts() {
  const std::regex call("redis\\.p?call\\('([A-Z]+)'");
  std::set<std::string> commands;
  for (const redis::ScriptSource& script : redis::AllScripts()) {
    const std::string text(script.text);
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
      std::string command = (*at)[1];
      std::ranges::transform(command, command.begin(), [](char c) { return std::tolower(c); });
      commands.insert(command);
    }
  }
  return commands;
}

class RightsTest : public testing::TestWithParam<std::string> {
 protected:
  RightsTest() { server_.Run({"SCRIPT", "LOAD", std::string(redis::kRightsScript.text)}); }

  // Of a user with these rules.
  Strings MissingTo(const Strings& rules) {
    Strings user = {"ACL", "SETUSER", "worker", "reset", "on", "nopass"};
    user.insert(user.end(), rules.begin(), rules.end());
    server_.Run(user);
    RedisConnection connection(server_.socket_path());
    connection.Run({"AUTH", "worker", "any"});
    const redis::Reply reply = connection.Run(
        {"EVALSHA", redis::kRightsScript.sha1, "0", "lk:rights", "lk:daemon:rights"});
    EXPECT_EQ(reply.type, redis::Reply::Type::kArray) << reply.text;
    Strings missing;
    for (const redis::Reply& rule : reply.items) missing.push_back(rule.text);
    return missing;
  }

  RedisServer server_{{.program = GetParam()}};
};

TEST_P(RightsTest, UserWhoMayDoAllLacksNothing) {
  EXPECT_THAT(MissingTo({"~lk:*", "&lk:*", "+@all"}), IsEmpty());
}

TEST_P(RightsTest, EachCommandOfAScriptIsMissed) {
  const std::set<std::string> commands = CommandsOfAllScripts();
  ASSERT_THAT(commands, IsSupersetOf({"time", "set", "publish", "zadd"}));
  for (const std::string& command : commands) {
    const Strings missing = MissingTo({"~lk:*", "&lk:*", "+@all", "-" + command});
    if (command == "publish") {
      EXPECT_THAT(missing, ElementsAre("&", "+publish"));
    } else {
      EXPECT_THAT(missing, ElementsAre("+" + command));
    }
  }
}

TEST_P(RightsTest, KeysAndChannelsOfOthersAreMissed) {
  EXPECT_THAT(MissingTo({"~other:*", "&lk:*", "+@all"}), testing::Contains("~"));
  EXPECT_THAT(MissingTo({"~lk:*", "&other:*", "+@all"}), ElementsAre("&", "+publish"));
}

INSTANTIATE_TEST_SUITE_P(Servers, RightsTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
