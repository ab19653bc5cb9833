// SPDX-License-Identifier: Apache-2.0
//
// Rights that a user lacks, on every server: the script that tells of them knows each command of
// the other scripts, and an operation that meets one does not take the record for a damaged one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <set>

#include "redis/scripts.h"
#include "scripts/script_calls.h"
#include "support/process/redis_connection.h"
#include "support/process/redis_server.h"

namespace lockkeeper::support {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::StartsWith;
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
  RightsTest() {
    server_.Run({"SCRIPT", "LOAD", std::string(redis::kRightsScript.text)});
    for (const Strings& command : LoadCommands()) server_.Run(command);
  }

  // Of a user with these rules.
  std::unique_ptr<RedisConnection> ConnectionOf(const Strings& rules) {
    Strings user = {"ACL", "SETUSER", "worker", "reset", "on", "nopass"};
    user.insert(user.end(), rules.begin(), rules.end());
    server_.Run(user);
    auto connection = std::make_unique<RedisConnection>(server_.socket_path());
    connection->Run({"AUTH", "worker", "any"});
    return connection;
  }

  Strings MissingTo(const Strings& rules) {
    const redis::Reply reply = ConnectionOf(rules)->Run(
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

// A right is noticed to be missing within a second: these are calls before.
TEST_P(RightsTest, OperationThatIsDeniedACommandIsNotAnsweredAsCorrupt) {
  const std::map<std::string, Strings> kNeededBy = {
      {"get", {"release", "inspect"}}, {"set", {"acquire", "release"}}, {"setrange", {"extend"}}};
  const ScriptShape acquire = ScriptShapes().front();
  for (const std::string& command : CommandsOfAllScripts()) {
    if (command == "time" || command == "getrange") continue;  // Those of the frame itself.
    const auto connection = ConnectionOf({"~lk:*", "&lk:*", "+@all", "-" + command});
    std::set<std::string> denied;
    for (const ScriptShape& shape : ScriptShapes()) {
      server_.Run({"FLUSHDB"});
      if (shape.script != acquire.script) server_.Run(CallOf(acquire, "a"));
      const Strings call = CallOf(shape, "a");
      const redis::Reply reply = connection->Run({call.begin(), call.end()});
      if (reply.type == redis::Reply::Type::kError) {
        EXPECT_THAT(reply.text, StartsWith("LOCKKEEPER_DENIED ")) << shape.script->name;
        denied.insert(std::string(shape.script->name));
      } else {
        ASSERT_GE(reply.items.size(), 2U);
        EXPECT_NE(reply.items[1].integer, redis::kOutcomeCorrupt)
            << shape.script->name << " without " << command;
      }
    }
    const auto needed_by = kNeededBy.find(command);
    if (needed_by != kNeededBy.end()) {
      EXPECT_THAT(denied, IsSupersetOf(needed_by->second)) << command;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, RightsTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
