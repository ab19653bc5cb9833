// SPDX-License-Identifier: Apache-2.0
//
// Where a server must not run a script, none answers anything but the server's refusal: not on a
// replica, not on a primary that has lost its replicas, and without memory only those that free
// something or keep a lease.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripts/script_calls.h"
#include "support/process/redis_server.h"
#include "support/reply_text.h"

namespace lockkeeper::support {
namespace {

using testing::StartsWith;
using Strings = std::vector<std::string>;

class ScriptRefusalTest : public testing::TestWithParam<std::string> {
 protected:
  ScriptRefusalTest() { Load(server_); }

  static void Load(const RedisServer& server) {
    for (const Strings& command : LoadCommands()) server.Run(command);
  }

  static std::string Answer(const RedisServer& server, const ScriptShape& shape) {
    return Describe(server.Run(CallOf(shape, "a")));
  }

  // All scripts answer with an error of this word.
  static void ExpectAllRefused(const RedisServer& server, const std::string& word) {
    for (const ScriptShape& shape : ScriptShapes()) {
      EXPECT_THAT(Answer(server, shape), StartsWith("!" + word + " ")) << shape.script->name;
    }
  }

  RedisServer server_{{.program = GetParam(),
                       .listening = Listening::kUnixSocketAndTcp,
                       .settings = {"repl-diskless-sync-delay 0"}}};
};

TEST_P(ScriptRefusalTest, ScriptsRunOnAPrimary) {
  for (const ScriptShape& shape : ScriptShapes()) {
    EXPECT_THAT(Answer(server_, shape), StartsWith("[")) << shape.script->name;
  }
}

TEST_P(ScriptRefusalTest, ReplicaRunsNone) {
  for (const ScriptShape& shape : ScriptShapes()) Answer(server_, shape);
  RedisServer replica({.program = GetParam()});
  replica.Run({"REPLICAOF", "127.0.0.1", std::to_string(server_.port())});
  replica.AwaitInfo("replication", "master_link_status", "up");
  Load(replica);

  ASSERT_EQ(replica.Run({"EXISTS", "lk:{a}"}).integer, 1);
  ExpectAllRefused(replica, "READONLY");
}

TEST_P(ScriptRefusalTest, PrimaryWithTooFewReplicasRunsNone) {
  for (const ScriptShape& shape : ScriptShapes()) Answer(server_, shape);
  server_.Run({"CONFIG", "SET", "min-replicas-to-write", "1"});

  ExpectAllRefused(server_, "NOREPLICAS");
}

TEST_P(ScriptRefusalTest, ServerWithoutMemoryRunsThoseThatFreeKeepOrRead) {
  const ScriptShape acquire = ScriptShapes().front();
  ASSERT_THAT(Answer(server_, acquire), StartsWith("["));
  server_.Run({"CONFIG", "SET", "maxmemory", "1"});

  for (const ScriptShape& shape : ScriptShapes()) {
    const std::string answer = Answer(server_, shape);
    if (shape.runs_without_memory) {
      EXPECT_THAT(answer, StartsWith("[")) << shape.script->name;
    } else {
      EXPECT_THAT(answer, StartsWith("!OOM ")) << shape.script->name;
    }
  }
}

TEST_P(ScriptRefusalTest, LeaseIsReleasedAndExtendedWithoutMemory) {
  const std::vector<ScriptShape> shapes = ScriptShapes();
  ASSERT_THAT(Answer(server_, shapes[0]), StartsWith("["));
  server_.Run({"CONFIG", "SET", "maxmemory", "1"});

  const redis::Reply extended = server_.Run(CallOf(shapes[1], "a"));
  ASSERT_EQ(extended.items.size(), 5U) << Describe(extended);
  EXPECT_EQ(extended.items[1].integer, 1);
  const redis::Reply released = server_.Run(CallOf(shapes[2], "a"));
  ASSERT_EQ(released.items.size(), 5U) << Describe(released);
  EXPECT_EQ(released.items[1].integer, 1);
}

INSTANTIATE_TEST_SUITE_P(Servers, ScriptRefusalTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
