// SPDX-License-Identifier: Apache-2.0
//
// A RedisNode against servers that break the protocol, the connection or their word: no crash, no
// leak, each command answered once, and back to work as soon as the server behaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <random>
#include <set>

#include "node_harness.h"
#include "scripted_server.h"
#include "tls_servers.h"

namespace lockkeeper::redis {
namespace {

using std::chrono::milliseconds;
using Then = ScriptedAnswer::Then;
using Words = ScriptedServer::Words;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

bool IsCommand(const Words& command, std::string_view name) {
  return !command.empty() && command[0] == name;
}

// Misbehaves at a command of the first connection, and behaves ever after.
ScriptedServer::Handler OnceAt(std::string name, ScriptedAnswer answer) {
  return
      [name = std::move(name), answer = std::move(answer)](int connection, const Words& command) {
        const bool now = connection == 0 && (command.empty() ? name.empty() : command[0] == name);
        return now ? answer : HealthyAnswer(command);
      };
}

void ExpectProblemThenRecovery(const ScriptedServer::Handler& handler,
                               const testing::Matcher<std::string>& problem) {
  ScriptedServer server(handler);
  NodeHarness harness(server.url());
  const std::string address = server.url().substr(sizeof "redis://" - 1);

  const NodeHealth away = harness.AwaitSeen([](const NodeHealth& health) {
    return health.reachable || !health.problem.starts_with("connecting to");
  });
  ASSERT_THAT(away.problem, StartsWith(address));
  EXPECT_THAT(away.problem.substr(address.size()), problem);
  EXPECT_FALSE(away.refused);
  harness.AwaitReachable();
  EXPECT_EQ(harness.Ask({"PING"})->text, "OK");
}

TEST(MisbehavingServerTest, EachWayToSpoilTheHandshakeIsNamedAndTriedAgain) {
  ExpectProblemThenRecovery(
      OnceAt("INFO", {"HTTP/1.1 400 Bad Request\r\n"}),
      " sent a malformed reply: Protocol error, got \"H\" as reply type byte");
  // It depends on whether our first words reached it before the end.
  ExpectProblemThenRecovery(
      OnceAt("", {"", Then::kClose}),
      AllOf(AnyOf(StartsWith(": Server closed the connection"),
                  StartsWith(": Connection reset by peer"), StartsWith(": Broken pipe")),
            EndsWith(" before its first answer: does it expect TLS (rediss://)?")));
  // What a TLS server says to words in the clear: an alert.
  ExpectProblemThenRecovery(OnceAt("INFO", {std::string("\x15\x03\x01\x00\x02\x02\x46", 7)}),
                            " speaks TLS: use rediss:// in store.redis");
  ExpectProblemThenRecovery(OnceAt("INFO", {"$100\r\nredis_ver", Then::kClose}),
                            AnyOf(": Server closed the connection", ": Connection reset by peer"));
  ExpectProblemThenRecovery(OnceAt("", {"-ERR max number of clients reached\r\n"}),
                            " answered INFO with: ERR max number of clients reached");
}

TEST(MisbehavingServerTest, SilentServerIsGivenUpAfterTheConnectTimeout) {
  ScriptedServer server([](int, const Words&) { return ScriptedAnswer{}; });
  NodeHarness harness(
      server.url(), [](RedisNodeOptions& options) { options.connect_timeout = milliseconds(50); });

  harness.AwaitHealth([](const NodeHealth& health) {
    return health.problem.ends_with(" does not finish the handshake within 50ms");
  });
}

// A server whose connections are healthy until "SPOIL" is asked.
ScriptedServer::Handler SpoiledBy(ScriptedAnswer answer) {
  return [answer = std::move(answer)](int, const Words& command) {
    return IsCommand(command, "SPOIL") ? answer : HealthyAnswer(command);
  };
}

TEST(MisbehavingServerTest, ReplyThatBreaksOffLeavesTheOutcomeUnknown) {
  for (const Then then : {Then::kClose, Then::kReset}) {
    ScriptedServer server(SpoiledBy({"$10\r\nabc", then}));
    NodeHarness harness(server.url());
    harness.AwaitReachable();

    const auto answer = harness.Ask({"SPOIL"});
    EXPECT_EQ(ReasonName(answer), "OUTCOME_UNKNOWN");
    // At once, not when the time for a reply is over.
    EXPECT_THAT(std::string(answer.status().message()), Not(HasSubstr("does not answer")));
    harness.AwaitReachable();
  }
}

TEST(MisbehavingServerTest, ReplyToNothingBreaksTheConnectionAfterTheRightReply) {
  ScriptedServer server(SpoiledBy({"+right\r\n+wrong\r\n"}));
  NodeHarness harness(server.url());
  harness.AwaitReachable();

  EXPECT_EQ(harness.Ask({"SPOIL"})->text, "right");
  harness.AwaitHealth([&](const NodeHealth& health) {
    return health.reachable && harness.observed().connected >= 2;
  });
  EXPECT_EQ(harness.Ask({"PING"})->text, "OK");
}

TEST(MisbehavingServerTest, RepliesThatCameBeforeTheEndAreDelivered) {
  ScriptedServer server(SpoiledBy({"+last words\r\n", Then::kClose}));
  NodeHarness harness(server.url());
  harness.AwaitReachable();

  // Both in one turn and so in one write: what the server has not read when it closes takes the
  // answer away.
  std::future<NodeHarness::Answer> first, second;
  harness.loop().RunAndWait([&] {
    first = harness.Start({"SPOIL"});
    second = harness.Start({"PING"});
  });

  const auto answered = Await(std::move(first));
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_EQ(answered->text, "last words");
  EXPECT_EQ(ReasonName(Await(std::move(second))), "OUTCOME_UNKNOWN");
}

TEST(MisbehavingServerTest, DeeplyNestedAndHugeRepliesAreRefused) {
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "*1\r\n";
  for (const std::string& bytes : {nested, std::string("*999999999999\r\n:1\r\n")}) {
    ScriptedServer server(SpoiledBy({bytes}));
    NodeHarness harness(server.url());
    harness.AwaitReachable();

    const auto answer = harness.Ask({"SPOIL"});
    EXPECT_EQ(ReasonName(answer), "OUTCOME_UNKNOWN");
    EXPECT_THAT(std::string(answer.status().message()), HasSubstr("sent a malformed reply"));
  }
}

TEST(MisbehavingServerTest, TooMuchInFlightIsRefusedUnsent) {
  std::atomic<int> received = 0;
  std::atomic<bool> behave = false;
  ScriptedServer server([&](int, const Words& command) {
    received += IsCommand(command, "COUNT");
    if (IsCommand(command, "COUNT") && !behave) return ScriptedAnswer{};
    return HealthyAnswer(command);
  });
  constexpr int kCommands = 70'000;
  NodeHarness harness(server.url());
  harness.AwaitReachable();

  std::vector<std::future<NodeHarness::Answer>> answers(kCommands);
  for (auto& answer : answers) answer = harness.Start({"COUNT"});
  harness.loop().RunAndWait([] {});
  harness.loop().RunAndWait([] {});
  harness.Close();
  int refused = 0;
  for (auto& future : answers) {
    const auto answer = Await(std::move(future));
    refused += std::string(answer.status().message()).starts_with("too many commands");
  }

  EXPECT_GE(refused, kCommands - 65'536);
  EXPECT_LE(received, 65'536);
}

// Keeps its promise when the thread ends that it was made on.
struct AtEndOfThread {
  explicit AtEndOfThread(std::promise<void>& its_end) : end(its_end) {}
  ~AtEndOfThread() { end.set_value(); }
  AtEndOfThread(const AtEndOfThread&) = delete;
  AtEndOfThread& operator=(const AtEndOfThread&) = delete;
  std::promise<void>& end;
};

// Goal: a command that is answered as unsent is never executed. Method: a server that stands still
// while more is written than the sockets take, and that reads all there is once the connection is
// ended.
void ExpectThatUnsentNeverArrives(const NodeHarness::Adjust& adjust,
                                  const std::optional<support::TlsFiles>& tls) {
  constexpr int kCommands = 2'000;
  const std::string ballast(10'000, 'x');
  std::latch ended(1);
  std::promise<void> all_read;
  std::set<std::string> received;
  std::vector<std::future<NodeHarness::Answer>> answers;
  {
    ScriptedServer server(
        [&](int, const Words& command) {
          if (IsCommand(command, "STAND")) {
            thread_local AtEndOfThread at_end(all_read);
            ended.wait();
            return ScriptedAnswer{};
          }
          if (!IsCommand(command, "COUNT")) return HealthyAnswer(command);
          received.insert(command[1]);
          return ScriptedAnswer{};
        },
        tls);
    NodeHarness harness(server.url(), adjust);
    harness.AwaitReachable();
    answers.push_back(harness.Start({"STAND"}));
    for (int i = 1; i <= kCommands; ++i) {
      answers.push_back(harness.Start({"COUNT", std::to_string(i), ballast}));
    }
    harness.loop().RunAndWait([] {});
    harness.loop().RunAndWait([] {});
    harness.Close();
    ended.count_down();
    Await(all_read.get_future());
  }

  int unsent = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (ReasonName(Await(std::move(answers[i]))) != "STORE_UNAVAILABLE") continue;
    ++unsent;
    EXPECT_FALSE(received.contains(std::to_string(i))) << i;
  }
  EXPECT_GT(unsent, 0);
  EXPECT_FALSE(received.empty());
}

TEST(MisbehavingServerTest, UnsentCommandsNeverArrive) {
  ExpectThatUnsentNeverArrives([](RedisNodeOptions&) {}, std::nullopt);
}

TEST(MisbehavingServerTest, UnsentCommandsNeverArriveThroughTls) {
  support::TestAuthority authority;
  ExpectThatUnsentNeverArrives(Trusting(authority), authority.IssueForLocalhost());
}

// Random bytes, most of them such that the parser gets somewhere.
std::string RandomBytes(std::mt19937& engine) {
  static constexpr std::string_view kPieces[] = {"+OK\r\n",
                                                 "-ERR x\r\n",
                                                 ":1\r\n",
                                                 "$3\r\nabc\r\n",
                                                 "$-1\r\n",
                                                 "*2\r\n",
                                                 "*0\r\n",
                                                 "*-1\r\n",
                                                 "\r\n",
                                                 "$",
                                                 "*",
                                                 "9999999999",
                                                 "-NOSCRIPT x\r\n",
                                                 "_\r\n",
                                                 "%1\r\n",
                                                 "-LOADING x\r\n",
                                                 "-READONLY x\r\n",
                                                 ">2\r\n",
                                                 "=5\r\ntxt:a\r\n",
                                                 "\0\xff\x80"};
  std::string bytes;
  for (size_t i = 1 + engine() % 6; i > 0; --i) {
    if (engine() % 8 == 0) {
      bytes.push_back(static_cast<char>(engine()));
    } else {
      bytes += kPieces[engine() % std::size(kPieces)];
    }
  }
  return bytes;
}

// What servers that answer at random do with their connections, a stream of chances for each of
// them, so that threads do not matter.
ScriptedServer::Handler AtRandom(uint32_t seed, const std::atomic<bool>& behave,
                                 std::atomic<int>& accepted) {
  return [seed, &behave, &accepted](int connection, const Words& command) {
    thread_local std::mt19937 engine;
    if (command.empty()) {
      engine.seed(seed * 1000 + static_cast<uint32_t>(connection));
      ++accepted;
    }
    const uint32_t chance = static_cast<uint32_t>(engine() % 100);
    if (behave || chance >= 15 || (command.empty() && chance >= 3)) return HealthyAnswer(command);
    ScriptedAnswer answer{RandomBytes(engine)};
    if (engine() % 4 == 0) answer.beneath = RandomBytes(engine);
    if (chance < 4) answer.then = chance < 2 ? Then::kClose : Then::kReset;
    return answer;
  };
}

// Calls a node of two connections while its server answers at random, until it behaves again.
// Answers how many connections were made.
int CallAtRandom(uint32_t seed, const NodeHarness::Adjust& adjust,
                 const std::optional<support::TlsFiles>& tls) {
  constexpr int kCommands = 40;
  constexpr ScriptSource kScript{"script", "return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"};
  std::atomic<bool> behave = false;
  std::atomic<int> accepted = 0;
  ScriptedServer server(AtRandom(seed, behave, accepted), tls);
  NodeHarness harness(server.url(), [&](RedisNodeOptions& options) {
    options.connections = 2;
    options.request_timeout = milliseconds(100);
    options.connect_timeout = milliseconds(100);
    adjust(options);
  });

  std::vector<std::future<NodeHarness::Answer>> answers;
  const auto await_all = [&] {
    for (auto& answer : std::exchange(answers, {})) {
      EXPECT_THAT(ReasonName(Await(std::move(answer))),
                  AnyOf("", "OUTCOME_UNKNOWN", "STORE_UNAVAILABLE"));
    }
  };
  for (int i = 0; i < kCommands; ++i) {
    answers.push_back(i % 2 == 0
                          ? harness.Start({"PING"})
                          : harness.StartScript(static_cast<size_t>(i / 2) % 2, kScript, {}));
    if (i % 8 == 7) await_all();
  }
  behave = true;
  harness.AwaitReachable();
  return accepted;
}

// Goal: whatever a server sends, at whatever moment, each command is answered exactly once and the
// node recovers. Method: servers that answer at random, a seed each; promises would throw at a
// second answer, and Await at none.
TEST(MisbehavingServerTest, RandomServersDoNoHarm) {
  constexpr uint32_t kSeeds = 150;
  int connections = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    connections += CallAtRandom(seed, [](RedisNodeOptions&) {}, std::nullopt);
  }
  EXPECT_GT(connections, static_cast<int>(kSeeds) * 2);  // Two are those of a node.
}

// The same through TLS, and beneath it: bytes that are no records, and ends within one.
TEST(MisbehavingServerTest, RandomServersBehindTlsDoNoHarm) {
  constexpr uint32_t kSeeds = 150;
  support::TestAuthority authority;
  const support::TlsFiles own = authority.IssueForLocalhost();
  const NodeHarness::Adjust trust = Trusting(authority);
  const auto adjust = [&trust](RedisNodeOptions& options) {
    trust(options);
    options.connect_timeout = milliseconds(300);  // A handshake more.
  };
  int connections = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    connections += CallAtRandom(seed, adjust, own);
  }
  EXPECT_GT(connections, static_cast<int>(kSeeds) * 2);
}

}  // namespace
}  // namespace lockkeeper::redis
