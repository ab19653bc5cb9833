// SPDX-License-Identifier: Apache-2.0
//
// What a node is told to do by Sentinels that disagree, are away, know nothing or say nonsense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "scripted_server.h"
#include "sentinel_harness.h"

namespace lockkeeper::redis {
namespace {

using std::chrono::milliseconds;
using Then = ScriptedAnswer::Then;
using Words = ScriptedServer::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PortOf(const std::string& url) { return url.substr(url.rfind(':') + 1); }

// A primary that answers everything, as the test wants. Thread-safety: thread-safe.
class ScriptedPrimary {
 public:
  std::string port() const { return PortOf(server_.url()); }
  std::string address() const { return "127.0.0.1:" + port(); }

  // Its answers to a command from now on.
  void Answer(const std::string& command, const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    answers_[command] = bytes;
  }

 private:
  ScriptedAnswer On(const Words& command) {
    const std::lock_guard lock(mutex_);
    if (command.empty()) return {};
    if (const auto found = answers_.find(command[0]); found != answers_.end()) {
      return {found->second};
    }
    if (command[0] == "INFO" && command[1] == "server") {
      return {Bulk("redis_version:7.0.15\r\nrun_id:" + std::string(40, 'a') + "\r\n")};
    }
    if (command[0] == "CONFIG") {
      return {BulkArray({"min-replicas-to-write", "1", "min-replicas-max-lag", "3"})};
    }
    return HealthyAnswer(command);
  }

  std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  ScriptedServer server_{[this](int, const Words& command) { return On(command); }};
};

// A Sentinel that says what the test wants. Thread-safety: thread-safe.
class ScriptedSentinel {
 public:
  ScriptedSentinel(std::string id, const ScriptedPrimary& primary, size_t others = 2)
      : id_(std::move(id)), port_of_primary_(primary.port()), others_(others) {}

  const std::string& id() const { return id_; }
  std::string port() const { return PortOf(server_.url()); }
  std::string address() const { return "127.0.0.1:" + port(); }

  void Name(const ScriptedPrimary& primary, int64_t config_epoch) {
    const std::lock_guard lock(mutex_);
    port_of_primary_ = primary.port();
    config_epoch_ = config_epoch;
  }
  // It tells of another Sentinel there, in place of any with this id.
  void Tell(const std::string& id, const std::string& port) {
    const std::lock_guard lock(mutex_);
    told_[id] = port;
  }
  // It closes each connection on which it is asked.
  void SetAway(bool away) {
    const std::lock_guard lock(mutex_);
    away_ = away;
  }
  // Its answers to SENTINEL `subcommand`.
  void Answer(const std::string& subcommand, const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    answers_[subcommand] = bytes;
  }

 private:
  ScriptedAnswer On(const Words& command) {
    const std::lock_guard lock(mutex_);
    if (away_ && !command.empty()) return {"", Then::kClose};
    if (command.empty() || command[0] != "SENTINEL") return OfHandshake(command);
    if (const auto found = answers_.find(command[1]); found != answers_.end()) {
      return {found->second};
    }
    if (command[1] == "MYID") return {Bulk(id_)};
    if (command[1] == "MASTERS") return {"*1\r\n" + BulkArray({"name", "mymaster"})};
    if (command[1] == "SENTINELS") return {Others()};
    if (command[2] != "mymaster") return {"-ERR No such master with that name\r\n"};
    if (command[1] == "MASTER") {
      return {BulkArray({"name", "mymaster", "config-epoch", std::to_string(config_epoch_),
                         "num-other-sentinels", std::to_string(others_)})};
    }
    return {BulkArray({"127.0.0.1", port_of_primary_})};
  }

  static ScriptedAnswer OfHandshake(const Words& command) {
    if (command.empty()) return {};
    if (command[0] == "INFO") return {Bulk("redis_mode:sentinel\r\n")};
    if (command[0] == "SUBSCRIBE")
      return {"*3\r\n" + Bulk("subscribe") + Bulk(command[1]) + ":1\r\n"};
    return {"+PONG\r\n"};
  }

  std::string Others() const {
    std::string reply = "*" + std::to_string(told_.size()) + "\r\n";
    for (const auto& [id, port] : told_) {
      reply += BulkArray({"ip", "127.0.0.1", "port", port, "runid", id});
    }
    return reply;
  }

  const std::string id_;
  std::mutex mutex_;
  std::string port_of_primary_;
  int64_t config_epoch_ = 1;
  size_t others_;
  std::map<std::string, std::string> told_;
  std::map<std::string, std::string> answers_;
  bool away_ = false;
  ScriptedServer server_{[this](int, const Words& command) { return On(command); }};
};

class SentinelWatchTest : public testing::Test {
 protected:
  static std::string UrlOf(const std::vector<const ScriptedSentinel*>& sentinels) {
    std::string url = "redis+sentinel://";
    for (const ScriptedSentinel* sentinel : sentinels) url += sentinel->address() + ",";
    url.back() = '/';
    return url + "mymaster";
  }
  std::string Url() const { return UrlOf({&one_, &two_, &three_}); }

  void AllName(const ScriptedPrimary& primary, int64_t config_epoch) {
    for (ScriptedSentinel* sentinel : {&one_, &two_, &three_})
      sentinel->Name(primary, config_epoch);
  }

  static constexpr milliseconds kSoon{300};
  // Answers soon count no more.
  static void ForgetSoon(SentinelOptions& options) { options.times.answer_lifetime = kSoon; }

  // Sentinels are asked at the start, and then only for a reason. Returns when all have answered.
  static std::unique_ptr<SentinelHarness> AskingForAReason(const std::string& url) {
    auto harness = std::make_unique<SentinelHarness>(url, [](SentinelOptions& options) {
      options.times.ask_interval = std::chrono::minutes(5);
      options.times.answer_lifetime = std::chrono::minutes(10);
    });
    while (harness->said().heard() != std::pair(size_t{3}, size_t{3})) {
      harness->node().loop().RunAndWait([] {});
    }
    return harness;
  }

  // Asks that a replica confirms what the primary has replied to.
  static core::Assurance Confirm(NodeHarness& harness) {
    std::promise<core::Assurance> confirmed;
    harness.loop().RunAndWait([&] {
      RedisNode& node = harness.node();
      node.Confirm(node.AnyRoute(), core::Assurance::kReplicas, harness.loop().Now() + kPatience,
                   [&confirmed](core::Assurance as) { confirmed.set_value(as); });
    });
    return Await(confirmed.get_future());
  }

  ScriptedPrimary a_, b_;
  ScriptedSentinel one_{"1", a_}, two_{"2", a_}, three_{"3", a_};
};

TEST_F(SentinelWatchTest, MovesToThePrimaryThatTheSentinelsName) {
  SentinelHarness harness(Url());

  harness.AwaitPrimary(a_.address());

  EXPECT_THAT(harness.said().primaries(), ElementsAre(a_.address()));
  EXPECT_TRUE(harness.said().problems().empty());
  EXPECT_EQ(harness.node().Ask({"PING"})->text, "OK");
}

TEST_F(SentinelWatchTest, LearnsOfSentinelsThatTheUrlDoesNotName) {
  one_.Tell("2", two_.port());
  one_.Tell("3", three_.port());
  SentinelHarness harness(UrlOf({&one_}));
  harness.AwaitPrimary(a_.address());

  one_.SetAway(true);  // The two others are a majority.
  two_.Name(b_, 2);
  three_.Name(b_, 2);

  harness.AwaitPrimary(b_.address());
}

TEST_F(SentinelWatchTest, SentinelThatMovedIsFoundByWhatOthersSay) {
  one_.Tell("2", "1");  // Nobody listens there.
  SentinelHarness harness(UrlOf({&one_}));
  harness.node().AwaitHealth(
      [](const NodeHealth& now) { return now.problem.find("1 of 3") != std::string::npos; });

  one_.Tell("2", two_.port());

  harness.AwaitPrimary(a_.address());
}

TEST_F(SentinelWatchTest, HigherConfigEpochOfOneSentinelIsAFailover) {
  SentinelHarness harness(Url());
  harness.AwaitPrimary(a_.address());

  three_.Name(b_, 2);

  harness.AwaitPrimary(b_.address());
  EXPECT_THAT(harness.said().primaries(), ElementsAre(a_.address(), b_.address()));
}

TEST_F(SentinelWatchTest, SentinelThatWasCutOffIsOutvoted) {
  AllName(b_, 2);
  one_.Name(a_, 1);
  SentinelHarness harness(UrlOf({&one_, &two_}));

  harness.AwaitPrimary(b_.address());

  EXPECT_THAT(harness.said().primaries(), ElementsAre(b_.address()));
}

TEST_F(SentinelWatchTest, WithoutAMajorityTheNodeIsMovedNowhere) {
  SentinelHarness harness(Url(), ForgetSoon);
  harness.AwaitPrimary(a_.address());

  two_.SetAway(true);
  three_.SetAway(true);

  const NodeHealth health = harness.node().AwaitHealth(
      [](const NodeHealth& now) { return now.problem.find("(1 of 3)") != std::string::npos; });
  EXPECT_FALSE(health.reachable);
  EXPECT_FALSE(health.refused);
  EXPECT_THAT(health.problem,
              HasSubstr("no majority of the Sentinels of \"mymaster\" answers (1 of 3), so nobody "
                        "knows which server is the primary: 127.0.0.1:"));
  EXPECT_EQ(ReasonName(harness.node().Ask({"PING"})), "STORE_UNAVAILABLE");
  EXPECT_EQ(harness.said().heard(), std::pair(size_t{1}, size_t{3}));

  two_.SetAway(false);
  harness.AwaitPrimary(a_.address());
}

TEST_F(SentinelWatchTest, WhoAssumesNoSplitBrainKeepsThePrimary) {
  SentinelHarness harness(Url(), [](SentinelOptions& options) {
    ForgetSoon(options);
    options.majority = Majority::kNotNeeded;
  });
  harness.AwaitPrimary(a_.address());
  two_.SetAway(true);
  three_.SetAway(true);

  one_.Name(b_, 2);  // One is believed.
  harness.AwaitPrimary(b_.address());
  one_.SetAway(true);
  const auto until = std::chrono::steady_clock::now() + 2 * kSoon;  // No answer counts then.
  while (std::chrono::steady_clock::now() < until) {
    ASSERT_EQ(harness.node().Ask({"PING"})->text, "OK");
  }

  EXPECT_TRUE(harness.said().problems().empty());
}

TEST_F(SentinelWatchTest, UnknownServiceIsRefusedWithThoseThatAreKnown) {
  std::string url = Url();
  url.replace(url.rfind('/') + 1, std::string::npos, "my-master");
  SentinelHarness harness(url);

  const NodeHealth health =
      harness.node().AwaitHealth([](const NodeHealth& now) { return now.refused; });

  EXPECT_THAT(health.problem,
              HasSubstr("watches no \"my-master\"; the services that it watches: \"mymaster\""));
}

TEST_F(SentinelWatchTest, ServerThatAnswersNoSentinelCommandIsNoView) {
  SentinelHarness harness("redis+sentinel://" + a_.address() + "/mymaster",
                          [](SentinelOptions&) {});
  // The scripted primary does not tell its mode, and answers +OK to everything.
  const NodeHealth health =
      harness.node().AwaitHealth([](const NodeHealth& now) { return !now.connecting; });

  EXPECT_THAT(health.problem, HasSubstr("sent a malformed answer"));
}

TEST_F(SentinelWatchTest, NonsenseIsNoView) {
  for (const std::string nonsense :
       {"+OK\r\n", ":1\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n", "*1\r\n*0\r\n", "-ERR broken\r\n"}) {
    SCOPED_TRACE(nonsense);
    three_.Answer("MASTER", nonsense);
    three_.Answer("SENTINELS", nonsense);
    two_.Answer("GET-MASTER-ADDR-BY-NAME", nonsense);
    two_.Answer("MASTERS", nonsense);
    SentinelHarness harness(Url());
    const NodeHealth health = harness.node().AwaitHealth(
        [](const NodeHealth& now) { return now.problem.find("(1 of 3)") != std::string::npos; });
    EXPECT_FALSE(health.reachable);
  }
}

TEST_F(SentinelWatchTest, InventedSentinelsAreNotMetWithoutEnd) {
  for (int i = 64'000; i < 65'000; ++i) one_.Tell(std::to_string(i), std::to_string(i));
  SentinelHarness harness(
      Url(), [](SentinelOptions& options) { options.majority = Majority::kNotNeeded; });
  harness.AwaitPrimary(a_.address());
  harness.AwaitKnown(64);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(harness.node().Ask({"PING"}).ok());

  EXPECT_EQ(harness.Known(), 64u);
}

TEST_F(SentinelWatchTest, SentinelsOfWhichNobodySpeaksAnyMoreAreForgotten) {
  one_.Tell("4", "1");  // Nobody listens there.
  SentinelHarness harness(Url());
  harness.AwaitKnown(4);
  one_.Answer("SENTINELS", "*0\r\n");
  harness.AwaitKnown(3);
}

TEST_F(SentinelWatchTest, ReplicaThatIsNamedIsAskedAboutAgain) {
  ScriptedServer replica([](int, const Words& command) {
    if (!command.empty() && command[0] == "ROLE") {
      return ScriptedAnswer{BulkArray({"slave", "127.0.0.1", "1"})};
    }
    return HealthyAnswer(command);
  });
  for (ScriptedSentinel* sentinel : {&one_, &two_, &three_}) {
    sentinel->Answer("GET-MASTER-ADDR-BY-NAME", BulkArray({"127.0.0.1", PortOf(replica.url())}));
  }
  SentinelHarness harness(Url());
  const NodeHealth health = harness.node().AwaitSeen([](const NodeHealth& now) {
    return now.problem.find("is a replica of") != std::string::npos ||
           now.problem.find("is a replica,") != std::string::npos;
  });
  EXPECT_FALSE(health.refused);

  for (ScriptedSentinel* sentinel : {&one_, &two_, &three_}) {
    sentinel->Answer("GET-MASTER-ADDR-BY-NAME", BulkArray({"127.0.0.1", a_.port()}));
    sentinel->Name(a_, 2);
  }
  harness.AwaitPrimary(a_.address());
}

// Goal: a primary that says it is one no more is not asked again before the Sentinels have said who
// is. Method: they announce nothing, and would be asked again only in five minutes.
TEST_F(SentinelWatchTest, ReadOnlyPrimaryMakesTheSentinelsAskedAtOnce) {
  const auto harness = AskingForAReason(Url());
  harness->AwaitPrimary(a_.address());
  AllName(b_, 2);
  a_.Answer("SET", "-READONLY You can't write against a read only replica.\r\n");

  EXPECT_THAT(harness->node().Ask({"SET", "key", "value"})->text, HasSubstr("READONLY"));

  harness->AwaitPrimary(b_.address());
}

// The same on the connection of confirmations, which no call of a lock uses.
TEST_F(SentinelWatchTest, PrimaryThatEndsAWaitForReplicasMakesTheSentinelsAskedAtOnce) {
  for (const auto& [command, answer] :
       {std::pair("WAIT",
                  "-UNBLOCKED force unblock from blocking operation, instance state changed "
                  "(master -> replica?)\r\n"),
        std::pair("SET", "-READONLY You can't write against a read only replica.\r\n")}) {
    SCOPED_TRACE(answer);
    ScriptedPrimary before;
    AllName(before, 1);
    const auto harness = AskingForAReason(Url());
    harness->AwaitPrimary(before.address());
    AllName(b_, 2);
    before.Answer(command, answer);

    EXPECT_EQ(Confirm(harness->node()), core::Assurance::kMemory);

    harness->AwaitPrimary(b_.address());
  }
}

// Goal: what is in flight when the primary changes is answered once, and truly.
TEST_F(SentinelWatchTest, CommandsInFlightAreUnknownWhenThePrimaryChanges) {
  ScriptedServer silent([](int, const Words& command) {
    if (!command.empty() && command[0] == "INCR") return ScriptedAnswer{};
    if (!command.empty() && command[0] == "CONFIG") {
      return ScriptedAnswer{BulkArray({"min-replicas-to-write", "1", "min-replicas-max-lag", "3"})};
    }
    return HealthyAnswer(command);
  });
  for (ScriptedSentinel* sentinel : {&one_, &two_, &three_}) {
    sentinel->Answer("GET-MASTER-ADDR-BY-NAME", BulkArray({"127.0.0.1", PortOf(silent.url())}));
  }
  SentinelHarness harness(Url());
  harness.node().AwaitReachable();
  auto answer = harness.node().Start({"INCR", "number"});
  harness.node().loop().RunAndWait([] {});  // The command was handed to the kernel.

  for (ScriptedSentinel* sentinel : {&one_, &two_, &three_}) {
    sentinel->Answer("GET-MASTER-ADDR-BY-NAME", BulkArray({"127.0.0.1", a_.port()}));
    sentinel->Name(a_, 2);
  }

  EXPECT_EQ(ReasonName(Await(std::move(answer))), "OUTCOME_UNKNOWN");
  harness.AwaitPrimary(a_.address());
}

}  // namespace
}  // namespace lockkeeper::redis
