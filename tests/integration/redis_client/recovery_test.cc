// SPDX-License-Identifier: Apache-2.0
//
// A RedisNode whose server dies, stands still, forgets its scripts or changes its settings: what
// its callers are told, and that it comes back by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "node_harness.h"
#include "support/process/redis_server.h"

namespace lockkeeper::redis {
namespace {

using std::chrono::milliseconds;
using support::Data;
using support::Durability;
using support::Listening;
using support::Readiness;
using support::RedisServer;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Type = Reply::Type;

constexpr std::string_view kIncrement = "return redis.call('INCR', 'number')";

TEST(RecoveryTest, RefusedConnectionIsToldAndMendedWhenTheServerComes) {
  const std::string address = "127.0.0.1:1";
  NodeHarness harness("redis://" + address);

  harness.AwaitHealth([&](const NodeHealth& health) {
    return health.problem == "connect to " + address + ": Connection refused";
  });
  const auto answer = harness.Ask({"PING"});
  EXPECT_EQ(ReasonName(answer), "STORE_UNAVAILABLE");
  EXPECT_EQ(answer.status().message(),
            "the store is away: connect to " + address + ": Connection refused");
}

TEST(RecoveryTest, MissingSocketIsNamed) {
  NodeHarness harness("unix:///nowhere/redis.sock");

  harness.AwaitHealth([](const NodeHealth& health) {
    return health.problem == "connect to /nowhere/redis.sock: No such file or directory";
  });
}

TEST(RecoveryTest, UnknownHostIsNamed) {
  NodeHarness harness("redis://" + std::string(70, 'x') + ".invalid");

  harness.AwaitHealth([](const NodeHealth& health) {
    return health.problem.starts_with("resolve " + std::string(70, 'x') + ".invalid: ");
  });
}

TEST(RecoveryTest, KilledServerIsFoundAgainAfterItsRestart) {
  RedisServer server({.listening = Listening::kUnixSocketAndTcp});
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) { options.connections = 2; });
  harness.AwaitReachable();

  server.Kill();
  const NodeHealth away = harness.AwaitHealth([&](const NodeHealth& health) {
    return !health.reachable && harness.observed().lost == 2;  // Both have noticed.
  });
  EXPECT_EQ(away.assurance, core::Assurance::kNone);
  EXPECT_FALSE(away.refused);
  EXPECT_THAT(away.problem, HasSubstr("127.0.0.1:" + std::to_string(server.port())));
  EXPECT_EQ(ReasonName(harness.Ask({"PING"})), "STORE_UNAVAILABLE");

  server.Restart(Data::kLose);
  harness.AwaitReachable();
  EXPECT_EQ(harness.Ask({"PING"})->text, "PONG");
  EXPECT_GE(harness.observed().lost, 2);
  EXPECT_GE(harness.observed().connected, 4);
}

// Goal: an answer is a promise. Method: counters on a server that is killed again and again.
TEST(RecoveryTest, EveryCommandAroundACrashIsAnsweredOnceAndTruly) {
  constexpr int kRounds = 4;
  constexpr int kCommands = 2000;
  RedisServer server({.durability = Durability::kDiskAlways});
  const TestScript script(server, kIncrement);
  NodeHarness harness(server.url());
  int executed = 0;
  int unknown = 0;
  for (int round = 0; round < kRounds; ++round) {
    harness.AwaitReachable();
    ASSERT_EQ(harness.Call(script.source, {})->type, Type::kInteger);
    ++executed;
    std::vector<std::future<NodeHarness::Answer>> answers;
    for (int i = 0; i < kCommands; ++i) {
      answers.push_back(harness.StartScript(0, script.source, {}));
      if (i == kCommands / 2) server.Kill();
    }
    for (auto& future : answers) {
      const auto answer = Await(std::move(future));
      executed += answer.ok() && answer->type == Type::kInteger;
      unknown += ReasonName(answer) == "OUTCOME_UNKNOWN";
      if (!answer.ok()) {
        EXPECT_THAT(ReasonName(answer), AnyOf("OUTCOME_UNKNOWN", "STORE_UNAVAILABLE"));
      }
    }
    server.Restart(Data::kKeep);
  }

  const int number = std::stoi(server.Run({"GET", "number"}).text);
  EXPECT_GE(number, executed);
  EXPECT_LE(number, executed + unknown);
}

// Goal: STORE_UNAVAILABLE means "was not and will not be executed". Method: a server that stands
// still takes what fits into the socket's buffers, and executes that later.
TEST(RecoveryTest, OnlyWhatWasHandedOverMayBeExecutedLater) {
  constexpr int kCommands = 3000;
  const std::string filler(2000, 'x');
  RedisServer server;
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) {
    options.request_timeout = milliseconds(300);
    options.probe_interval = std::chrono::hours(1);
  });
  harness.AwaitReachable();
  server.Pause();

  std::vector<std::future<NodeHarness::Answer>> answers;
  answers.reserve(kCommands);
  for (int i = 0; i < kCommands; ++i) {
    answers.push_back(harness.Start({"HSET", "executed", std::to_string(i), filler}));
  }
  std::set<std::string> unknown;
  size_t not_sent = 0;
  for (int i = 0; i < kCommands; ++i) {
    const std::string reason = ReasonName(Await(std::move(answers[static_cast<size_t>(i)])));
    if (reason == "OUTCOME_UNKNOWN") {
      unknown.insert(std::to_string(i));
    } else {
      EXPECT_EQ(reason, "STORE_UNAVAILABLE");
      ++not_sent;
    }
  }
  EXPECT_GT(unknown.size(), 0u);
  EXPECT_GT(not_sent, 0u);

  server.Resume();
  harness.AwaitReachable();
  const Reply fields = server.Run({"HKEYS", "executed"});
  for (const Reply& field : fields.items) {
    EXPECT_TRUE(unknown.contains(field.text)) << field.text << " was executed";
  }
}

TEST(RecoveryTest, ServerThatStandsStillIsGivenUpAndTakenBack) {
  RedisServer server;
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) {
    options.request_timeout = milliseconds(1500);
    options.connect_timeout = milliseconds(1500);
  });
  harness.AwaitReachable();

  server.Pause();
  const auto answer = harness.Ask({"PING"});
  EXPECT_EQ(ReasonName(answer), "OUTCOME_UNKNOWN");
  EXPECT_EQ(answer.status().message(),
            "the store did not answer: " + server.socket_path() + " does not answer within 1.5s");
  harness.AwaitHealth([&](const NodeHealth& health) {
    return health.problem == server.socket_path() + " does not finish the handshake within 1.5s";
  });

  server.Resume();
  harness.AwaitReachable();
  EXPECT_EQ(harness.Ask({"PING"})->text, "PONG");
}

TEST(RecoveryTest, IdleConnectionToAServerThatStandsStillIsNoticedByTheProbe) {
  RedisServer server;
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) {
    options.request_timeout = milliseconds(100);
    options.probe_interval = milliseconds(20);
  });
  harness.AwaitReachable();

  server.Pause();
  EXPECT_THAT(harness.AwaitAway().problem, HasSubstr("does not answer within 100ms"));

  server.Resume();
  harness.AwaitReachable();
}

TEST(RecoveryTest, BusyConnectionDoesNotHideACommandThatIsStuck) {
  RedisServer server;
  NodeHarness harness(
      server.url(), [](RedisNodeOptions& options) { options.request_timeout = milliseconds(300); });
  harness.AwaitReachable();

  // BLPOP holds up the replies behind it, although the server is alive.
  auto stuck = harness.Start({"BLPOP", "nothing", "0"});

  EXPECT_EQ(ReasonName(Await(std::move(stuck))), "OUTCOME_UNKNOWN");
  harness.AwaitReachable();
}

TEST(RecoveryTest, KilledConnectionIsReplaced) {
  RedisServer server;
  NodeHarness harness(server.url());
  harness.AwaitReachable();

  for (int i = 1; i <= 5; ++i) {
    server.Run({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    harness.AwaitHealth([&](const NodeHealth& health) {
      return health.reachable && harness.observed().connected >= i + 1;
    });
    EXPECT_EQ(harness.Ask({"PING"})->text, "PONG");
  }
}

TEST(RecoveryTest, ForgottenScriptIsLoadedOnceAndEachCallRunsOnce) {
  constexpr int kCalls = 5000;
  RedisServer server;
  const TestScript script(server, kIncrement);
  NodeHarness harness(server.url());
  harness.AwaitReachable();
  server.Run({"SCRIPT", "FLUSH"});

  std::vector<std::future<NodeHarness::Answer>> answers(kCalls);
  for (auto& answer : answers) answer = harness.StartScript(0, script.source, {});
  for (auto& answer : answers) {
    ASSERT_EQ(Await(std::move(answer))->type, Type::kInteger);
  }

  EXPECT_EQ(server.Run({"GET", "number"}).text, std::to_string(kCalls));
  EXPECT_GE(harness.observed().loaded_again, 1);
  EXPECT_LE(harness.observed().loaded_again, 3);
}

TEST(RecoveryTest, ScriptForgottenAgainAndAgainUnderLoadIsAlwaysExecutedOnceOrNotAtAll) {
  constexpr int kRounds = 50;
  constexpr int kCalls = 100;
  RedisServer server;
  const TestScript script(server, kIncrement);
  NodeHarness harness(server.url(), [](RedisNodeOptions& options) { options.connections = 2; });
  harness.AwaitReachable();

  std::vector<std::future<NodeHarness::Answer>> answers;
  for (int round = 0; round < kRounds; ++round) {
    server.Run({"SCRIPT", "FLUSH"});
    for (int i = 0; i < kCalls; ++i) {
      answers.push_back(harness.StartScript(static_cast<size_t>(i) % 2, script.source, {}));
    }
  }
  int executed = 0;
  for (auto& future : answers) {
    const auto answer = Await(std::move(future));
    executed += answer->type == Type::kInteger;
    if (answer->type == Type::kError) {
      EXPECT_THAT(answer->text, StartsWith("NOSCRIPT"));
    }
  }

  EXPECT_EQ(server.Run({"GET", "number"}).text, std::to_string(executed));
  EXPECT_GT(executed, 0);
}

TEST(RecoveryTest, ScriptThatMayNotBeLoadedAgainTellsWhy) {
  RedisServer server({.settings = {"user locks on nopass ~* +@all"}});
  const TestScript script(server, kIncrement);
  NodeHarness harness("unix://locks:x@" + server.socket_path());
  harness.AwaitReachable();
  server.Run({"SCRIPT", "FLUSH"});
  server.Run({"ACL", "SETUSER", "locks", "-script"});

  const auto answer = harness.Call(script.source, {});

  EXPECT_EQ(answer->type, Type::kError);
  EXPECT_THAT(answer->text, StartsWith("NOPERM"));
}

TEST(RecoveryTest, LoadingServerIsAwayUntilItHasLoaded) {
  const std::string value(2000, 'x');
  RedisServer server({.settings = {"rdbcompression no"}});
  for (int i = 0; i < 100; ++i) server.Run({"SET", "name" + std::to_string(i), value});
  server.Run({"SAVE"});
  NodeHarness harness(server.url());
  harness.AwaitReachable();

  // Microseconds for each key, until that is set to nothing; a look at the clients at each key.
  server.Restart(Data::kKeep,
                 {"key-load-delay 50000", "loading-process-events-interval-bytes 1024"},
                 Readiness::kListens);
  const NodeHealth away = harness.AwaitHealth(
      [](const NodeHealth& health) { return health.problem.find("loading") != std::string::npos; });
  EXPECT_THAT(away.problem, StartsWith(server.socket_path() + " is loading its data"));
  EXPECT_FALSE(away.refused);

  server.Run({"CONFIG", "SET", "key-load-delay", "0"});
  harness.AwaitReachable();
  EXPECT_EQ(harness.Ask({"GET", "name99"})->text, value);
}

}  // namespace
}  // namespace lockkeeper::redis
