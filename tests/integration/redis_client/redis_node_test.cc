// SPDX-License-Identifier: Apache-2.0
//
// A RedisNode on a real redis-server: what it answers, and in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "node_harness.h"
#include "support/process/cli_process.h"
#include "support/process/redis_server.h"

namespace lockkeeper::redis {
namespace {

using support::Durability;
using support::Listening;
using support::RedisServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Type = Reply::Type;

TEST(RedisNodeTest, BecomesReachableAndTellsTheVersion) {
  RedisServer server;
  NodeHarness harness(server.url());

  const NodeHealth health = harness.AwaitReachable();

  EXPECT_EQ(health.server_version, "Redis " + server.Info("server", "redis_version"));
  EXPECT_EQ(health.problem, "");
  EXPECT_FALSE(health.refused);
}

TEST(RedisNodeTest, LooksTellTheServersClockAndHowLongItTook) {
  const auto wall_micros = [] { return absl::ToUnixMicros(absl::Now()); };
  RedisServer server;
  const int64_t before = wall_micros();
  NodeHarness harness(
      server.url(), [](RedisNodeOptions& options) { options.settings_interval = core::Millis(1); });

  std::optional<std::pair<core::Micros, std::optional<core::NodeTime>>> look;
  ASSERT_TRUE(support::WaitUntil([&] {
    const std::lock_guard lock(harness.observed().mutex);
    if (!harness.observed().looks.empty()) look = harness.observed().looks.back();
    return look.has_value();
  }));

  ASSERT_TRUE(look->second);
  EXPECT_GE(look->second->micros, before);
  EXPECT_LE(look->second->micros, wall_micros());
  EXPECT_GT(look->first, core::Micros(0));
  EXPECT_LE(look->first, core::Micros(wall_micros() - before));
}

TEST(RedisNodeTest, EveryLaneIsAConnectionWithAName) {
  RedisServer server;
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) { options.connections = 3; });
  harness.AwaitReachable();

  const std::string clients = server.Run({"CLIENT", "LIST"}).text;

  size_t named = 0;
  for (size_t at = 0; (at = clients.find("name=lockkeeperd:test ", at)) != std::string::npos;
       ++at) {
    ++named;
  }
  EXPECT_EQ(named, 3u);
  EXPECT_THAT(clients, HasSubstr("flags=Ue"));  // e: CLIENT NO-EVICT
}

TEST(RedisNodeTest, EveryTypeOfReplyComesBack) {
  RedisServer server;
  NodeHarness harness(server.url());
  harness.AwaitReachable();

  EXPECT_EQ(harness.Ask({"SET", "text", std::string("a\r\n\0b", 5)})->text, "OK");
  EXPECT_EQ(harness.Ask({"GET", "text"})->text, std::string("a\r\n\0b", 5));
  EXPECT_EQ(harness.Ask({"GET", "nothing"})->type, Type::kNil);
  EXPECT_EQ(harness.Ask({"INCRBY", "number", "-7"})->integer, -7);
  const auto error = harness.Ask({"INCR", "text"});
  EXPECT_EQ(error->type, Type::kError);
  EXPECT_THAT(error->text, StartsWith("ERR value is not an integer"));
  const auto array = harness.Ask({"MGET", "text", "nothing"});
  ASSERT_EQ(array->type, Type::kArray);
  EXPECT_EQ(array->items[1].type, Type::kNil);
}

TEST(RedisNodeTest, LargeCommandsAndRepliesPass) {
  RedisServer server;
  NodeHarness harness(server.url());
  harness.AwaitReachable();
  const std::string large(8 << 20, 'x');

  EXPECT_EQ(harness.Ask({"SET", "large", large})->text, "OK");
  EXPECT_EQ(harness.Ask({"GET", "large"})->text, large);
}

TEST(RedisNodeTest, TcpDatabaseAndAccessListUserAreTaken) {
  RedisServer server({.listening = Listening::kUnixSocketAndTcp,
                      .settings = {"user locks on >s3cr@t ~* &* +@all"}});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  NodeHarness harness("redis://locks:s3cr%40t@" + address + "/7");
  harness.AwaitReachable();

  EXPECT_EQ(harness.Ask({"ACL", "WHOAMI"})->text, "locks");
  EXPECT_EQ(harness.Ask({"SET", "name", "value"})->text, "OK");
  EXPECT_THAT(server.Info("keyspace", "db7"), StartsWith("keys=1"));
}

TEST(RedisNodeTest, HostNameIsResolved) {
  RedisServer server({.listening = Listening::kUnixSocketAndTcp});
  NodeHarness harness("redis://localhost:" + std::to_string(server.port()));

  harness.AwaitReachable();
}

TEST(RedisNodeTest, AssuranceFollowsTheServersSettings) {
  RedisServer volatile_server;
  RedisServer durable_server({.durability = Durability::kDiskAlways});

  EXPECT_EQ(NodeHarness(volatile_server.url()).AwaitReachable().assurance,
            core::Assurance::kMemory);
  EXPECT_EQ(NodeHarness(durable_server.url()).AwaitReachable().assurance, core::Assurance::kDisk);
}

TEST(RedisNodeTest, AssuranceFollowsSettingsThatAreChangedWhileTheServerRuns) {
  RedisServer server({.durability = Durability::kDiskAlways});
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) {
    options.connections = 2;
    options.settings_interval = std::chrono::milliseconds(10);
  });
  const auto await_assurance = [&harness](core::Assurance wanted) {
    harness.AwaitHealth([wanted](const NodeHealth& now) { return now.assurance == wanted; });
  };
  await_assurance(core::Assurance::kDisk);

  for (const auto& [setting, off, on] :
       std::vector<std::array<std::string, 3>>{{"appendfsync", "everysec", "always"},
                                               {"no-appendfsync-on-rewrite", "yes", "no"},
                                               {"appendonly", "no", "yes"}}) {
    server.Run({"CONFIG", "SET", setting, off});
    await_assurance(core::Assurance::kMemory);
    server.Run({"CONFIG", "SET", setting, on});
    await_assurance(core::Assurance::kDisk);
  }
  EXPECT_EQ(harness.observed().lost, 0);
}

// It is on disk only when the first, whole append-only file is.
TEST(RedisNodeTest, FileThatIsStillWrittenForTheFirstTimeCountsForNothing) {
  RedisServer server({.durability = Durability::kDiskAlways});
  server.Run({"SET", "name", "value"});
  server.Run({"CONFIG", "SET", "appendonly", "no", "rdb-key-save-delay", "60000000"});
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) {
    options.settings_interval = std::chrono::milliseconds(10);
  });
  ASSERT_EQ(harness.AwaitReachable().assurance, core::Assurance::kMemory);

  server.Run({"CONFIG", "SET", "appendonly", "yes"});
  server.AwaitInfo("persistence", "aof_rewrite_in_progress", "1");
  for (int looks = 0; looks < 3; ++looks) {
    const std::string before = server.Info("commandstats", "cmdstat_config|get");
    while (server.Info("commandstats", "cmdstat_config|get") == before) std::this_thread::yield();
  }
  harness.loop().RunAndWait(
      [&] { EXPECT_EQ(harness.node().assurance(), core::Assurance::kMemory); });
  EXPECT_EQ(NodeHarness(server.url()).AwaitReachable().assurance, core::Assurance::kMemory)
      << "for one that connects meanwhile, too";
  NodeHarness fsynced(server.url(), [](RedisNodeOptions& options) {
    options.min_assurance = core::Assurance::kDisk;
  });
  EXPECT_FALSE(fsynced.AwaitReachable().refused) << "it is for a moment";
  fsynced.loop().RunAndWait([&] {
    EXPECT_THAT(fsynced.node().setting_problem(),
                HasSubstr("is writing its append-only file anew"));
  });

  server.Run({"CONFIG", "SET", "appendonly", "no", "rdb-key-save-delay", "0"});
  server.Run({"CONFIG", "SET", "appendonly", "yes"});
  harness.AwaitHealth(
      [](const NodeHealth& now) { return now.assurance == core::Assurance::kDisk; });
}

// Connections to one server that contradict each other would make one eviction two losses.
TEST(RedisNodeTest, NewConnectionTellsAllLanesWhatTheServerIsLike) {
  RedisServer server({.durability = Durability::kDiskAlways});
  server.Run({"CONFIG", "SET", "appendfsync", "everysec"});
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) {
    options.connections = 2;
    options.settings_interval = std::chrono::hours(1);
  });
  ASSERT_EQ(harness.AwaitReachable().assurance, core::Assurance::kMemory);
  server.Run({"CONFIG", "SET", "appendfsync", "always"});

  const Reply id = *harness.Ask({"CLIENT", "ID"});
  server.Run({"CLIENT", "KILL", "ID", std::to_string(id.integer)});

  harness.AwaitHealth(
      [](const NodeHealth& now) { return now.assurance == core::Assurance::kDisk; });
  EXPECT_EQ(harness.observed().lost, 1);
}

// Goal: nothing is lost or doubled, and one connection keeps its order, with many thousands in
// flight.
TEST(RedisNodeTest, ThousandsInFlightAreExecutedOnceEachInTheOrderOfTheConnection) {
  constexpr int kCalls = 30'000;
  RedisServer server;
  const TestScript script(server, "return redis.call('RPUSH', 'list', ARGV[1])");
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) { options.connections = 2; });
  harness.AwaitReachable();

  std::vector<std::future<NodeHarness::Answer>> answers;
  answers.reserve(kCalls);
  for (int i = 0; i < kCalls; ++i) {
    answers.push_back(harness.StartScript(1, script.source, {std::to_string(i)}));
  }
  for (int i = 0; i < kCalls; ++i) {
    const auto answer = Await(std::move(answers[static_cast<size_t>(i)]));
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->integer, i + 1);
  }

  const Reply list = server.Run({"LRANGE", "list", "0", "-1"});
  ASSERT_EQ(list.items.size(), static_cast<size_t>(kCalls));
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_EQ(list.items[static_cast<size_t>(i)].text, std::to_string(i));
  }
  EXPECT_EQ(harness.observed().EndsOf(ScriptCallEnd::kAnswered), kCalls);
}

// Goal: the commands of one turn leave in one write. Method: the server counts what it reads.
TEST(RedisNodeTest, CommandsOfOneTurnArriveTogether) {
  constexpr int kCommands = 200;
  RedisServer server;
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) {
    options.probe_interval = std::chrono::hours(1);
  });
  harness.AwaitReachable();
  EXPECT_EQ(harness.Ask({"PING"})->text, "PONG");
  const int before = std::stoi(server.Info("stats", "total_reads_processed"));

  std::promise<void> all;
  int left = kCommands;
  harness.loop().RunAndWait([&] {
    for (int i = 0; i < kCommands; ++i) {
      harness.node().Send({}, CommandOf({"PING"}), [&](const NodeHarness::Answer&) {
        if (--left == 0) all.set_value();
      });
    }
  });
  Await(all.get_future());

  const int reads = std::stoi(server.Info("stats", "total_reads_processed")) - before;
  EXPECT_LE(reads, 4);  // One for all of ours, the rest for the two questions about it.
}

TEST(RedisNodeTest, AnswersNeverComeInsideTheCall) {
  RedisServer server;
  NodeHarness harness(server.url());
  harness.AwaitReachable();
  std::promise<void> both;
  int answers = 0;
  int inside = 0;
  bool in_call = false;
  const auto ask = [&] {
    in_call = true;
    harness.node().Send({}, CommandOf({"PING"}), [&](const NodeHarness::Answer&) {
      inside += in_call;
      if (++answers == 2) both.set_value();
    });
    in_call = false;
  };

  harness.loop().RunAndWait([&] {
    ask();
    harness.node().Close();  // Answers the first one, after its call; the second is refused later.
    ask();
    EXPECT_EQ(answers, 1);
  });
  Await(both.get_future());

  EXPECT_EQ(inside, 0);
}

TEST(RedisNodeTest, CloseAnswersEverythingOnceAndRefusesWhatFollows) {
  constexpr int kCommands = 1000;
  RedisServer server;
  NodeHarness harness(server.url());
  harness.AwaitReachable();
  server.Pause();

  std::vector<std::string> reasons;
  // One turn, hence one write: the kernel does not take a thousand small ones for a server that
  // does not read.
  harness.loop().RunAndWait([&] {
    for (int i = 0; i < kCommands; ++i) {
      harness.node().Send(
          {}, CommandOf({"INCR", "number"}),
          [&](const NodeHarness::Answer& answer) { reasons.push_back(ReasonName(answer)); });
    }
  });
  harness.Close();
  EXPECT_EQ(reasons, std::vector<std::string>(kCommands, "OUTCOME_UNKNOWN"));

  EXPECT_EQ(ReasonName(harness.Ask({"PING"})), "STORE_UNAVAILABLE");
  EXPECT_FALSE(harness.AwaitAway().reachable);
  server.Resume();
}

TEST(RedisNodeTest, CloseAnswersRefusalsThatAreStillToBeTold) {
  const ScriptSource script{"test", "return 1", "digest"};
  std::vector<std::string> reasons;
  NodeHarness harness("unix:///nowhere/redis.sock");

  harness.loop().RunAndWait([&] {
    const auto note = [&](const NodeHarness::Answer& answer) {
      reasons.push_back(ReasonName(answer));
    };
    harness.node().Run({}, script, CallOf(script, {}), note);
    harness.node().Send({}, CommandOf({"PING"}), note);
    EXPECT_THAT(reasons, IsEmpty());

    harness.node().Close();
    EXPECT_THAT(reasons, ElementsAre("STORE_UNAVAILABLE", "STORE_UNAVAILABLE"));
  });
}

TEST(RedisNodeTest, CloseAnswersWhatWasTooMuchInTheSameTurn) {
  constexpr int kCommands = 65'536 + 10;
  RedisServer server;
  int answers = 0;
  NodeHarness harness(server.url());
  harness.AwaitReachable();

  harness.loop().RunAndWait([&] {
    for (int i = 0; i < kCommands; ++i) {
      harness.node().Send({}, CommandOf({"PING"}), [&](const NodeHarness::Answer&) { ++answers; });
    }
    EXPECT_EQ(answers, 0);

    harness.node().Close();
    EXPECT_EQ(answers, kCommands);
  });
}

TEST(RedisNodeTest, NodeThatGoesAnswersWhatCameAfterClose) {
  const ScriptSource script{"test", "return 1", "digest"};
  CountingObserver observer;
  int answers = 0;
  loop::EventLoop loop("node");

  loop.RunAndWait([&] {
    auto node = std::make_unique<RedisNode>(
        loop, RedisNodeOptions{.url = *ParseRedisUrl("unix:///nowhere/redis.sock")}, observer);
    node->Close();
    node->Run({}, script, CallOf(script, {}), [&](const NodeHarness::Answer&) { ++answers; });
    EXPECT_EQ(answers, 0);

    node.reset();
    EXPECT_EQ(answers, 1);
  });
  EXPECT_EQ(observer.EndsOf(ScriptCallEnd::kNotSent), 1);
}

TEST(RedisNodeTest, NodeMayBeDestroyedAtAnyMoment) {
  RedisServer server;
  loop::EventLoop loop("node");
  CountingObserver observer;
  for (int i = 0; i < 200; ++i) {
    std::unique_ptr<RedisNode> node;
    loop.RunAndWait([&] {
      node = std::make_unique<RedisNode>(
          loop, RedisNodeOptions{.url = *ParseRedisUrl(server.url()), .daemon_id = "test"},
          observer);
    });
    for (int turns = 0; turns < i % 20; ++turns) loop.RunAndWait([] {});
    loop.RunAndWait([&] { node.reset(); });
  }
}

}  // namespace
}  // namespace lockkeeper::redis
