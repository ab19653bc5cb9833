// SPDX-License-Identifier: Apache-2.0
#include "redis/client/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "redis/scripts.h"
#include "unit/redis/replies.h"

namespace lockkeeper::redis {
namespace {

using core::Assurance;
using Kind = StoreProblem::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Line(const Command& command) {
  std::string line;
  for (const std::string_view word : command.Words()) {
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  return line;
}

// A server that answers as a healthy Redis 7.0.15 does, but for what the test changes.
class HandshakeTest : public testing::Test {
 protected:
  // Plays the handshake to its end; answers what was sent.
  std::vector<std::string> Play(const std::string& url, Expected expected = Expected::kServer) {
    Handshake handshake(*ParseRedisUrl(url), "lockkeeperd:1", "lk:", scripts_, expected);
    std::vector<std::string> sent;
    problem_.reset();
    for (;;) {
      const std::vector<Command> pipeline = handshake.NextPipeline();
      if (pipeline.empty()) break;
      for (const Command& command : pipeline) sent.push_back(Line(command));
      for (const Command& command : pipeline) {
        problem_ = handshake.OnReply(Answer(Line(command)));
        if (problem_) return sent;
      }
    }
    facts_ = handshake.facts();
    return sent;
  }

  std::vector<std::string> Play() { return Play("redis://host"); }

  Reply Answer(const std::string& line) {
    for (const auto& [prefix, reply] : answers_) {
      if (line.starts_with(prefix)) return reply;
    }
    return Text("OK");
  }

  void ExpectRefused(const std::string& text) {
    Play();
    ASSERT_TRUE(problem_) << "instead of: " << text;
    EXPECT_EQ(problem_->kind, Kind::kRefused);
    EXPECT_EQ(problem_->text, text);
  }

  void ExpectUnreachable(const std::string& text) {
    Play();
    ASSERT_TRUE(problem_) << "instead of: " << text;
    EXPECT_EQ(problem_->kind, Kind::kUnreachable);
    EXPECT_EQ(problem_->text, text);
  }

  const std::vector<ScriptSource> scripts_ = {{"one", "return 1", "a1"}, {"two", "return 2", "a2"}};
  std::map<std::string, Reply> answers_ = {
      {"INFO server", Text("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n")},
      {"INFO replication", Text("role:master\r\n")},
      {"INFO memory", Text("maxmemory:100\r\nmaxmemory_policy:noeviction\r\n")},
      {"INFO persistence", Text("loading:0\r\naof_enabled:1\r\n")},
      {"ROLE", Array({"master", "0", ""})},
      {"CONFIG GET", Array({"appendfsync", "always", "no-appendfsync-on-rewrite", "no"})},
  };
  std::optional<StoreProblem> problem_;
  ServerFacts facts_;
};

TEST_F(HandshakeTest, HealthyServerIsAskedThenGivenTheScripts) {
  EXPECT_THAT(
      Play(),
      ElementsAre("INFO server", "INFO replication", "INFO memory", "INFO persistence",
                  "INFO stats", "ROLE",
                  "CONFIG GET appendfsync no-appendfsync-on-rewrite min-replicas-to-write "
                  "min-replicas-max-lag cluster-node-timeout",
                  "CLIENT SETNAME lockkeeperd:1", "CLIENT NO-EVICT ON", "SCRIPT LOAD return 1",
                  "SCRIPT LOAD return 2",
                  "EVALSHA " + std::string(kRightsScript.sha1) + " 0 lk:rights lk:daemon:rights"));
  EXPECT_FALSE(problem_);
  EXPECT_EQ(facts_.Version(), "Redis 7.0.15");
}

TEST_F(HandshakeTest, StartOfTheServerIsKnownToTheSecond) {
  const auto started = [this](const std::string& told) {
    answers_["INFO server"] = Text("redis_version:7.0.15\r\nredis_mode:standalone\r\n" + told);
    Play();
    return facts_.Life().started.micros;
  };

  EXPECT_EQ(started("server_time_usec:1760000010900000\r\nuptime_in_seconds:3\r\n"),
            1'760'000'008'000'000)
      << "at the latest";
  EXPECT_EQ(started("server_time_usec:1760000010900000\r\n"), 0);
  EXPECT_EQ(started("uptime_in_seconds:3\r\n"), 0);
  EXPECT_EQ(started("server_time_usec:\r\nuptime_in_seconds:x\r\n"), 0);
}

TEST_F(HandshakeTest, CredentialsAndDatabaseComeFirst) {
  EXPECT_THAT(Play("redis://user:pw@host/3")[0], "AUTH user pw");
  EXPECT_THAT(Play("redis://user:pw@host/3")[1], "SELECT 3");
  EXPECT_THAT(Play("redis://:pw@host")[0], "AUTH pw");
  EXPECT_THAT(Play("redis://user@host")[0], "AUTH user ");
  EXPECT_FALSE(problem_);
}

TEST_F(HandshakeTest, WrongPasswordIsRefusedInTheServersWords) {
  answers_["AUTH"] = Error("WRONGPASS invalid username-password pair or user is disabled.");

  Play("redis://:pw@host");

  EXPECT_EQ(problem_->kind, Kind::kRefused);
  EXPECT_EQ(problem_->text,
            "answered AUTH with: WRONGPASS invalid username-password pair or user is disabled.");
}

TEST_F(HandshakeTest, MissingPasswordIsRefusedWithTheRemedy) {
  answers_["INFO server"] = Error("NOAUTH Authentication required.");

  ExpectRefused(
      "demands a password: put user and password into the URL, or the password into a file "
      "(store.redis_password_file)");
}

TEST_F(HandshakeTest, UnknownDatabaseIsRefused) {
  answers_["SELECT"] = Error("ERR DB index is out of range");

  Play("redis://host/99");

  EXPECT_EQ(problem_->text, "answered SELECT 99 with: ERR DB index is out of range");
  EXPECT_EQ(problem_->kind, Kind::kRefused);
}

TEST_F(HandshakeTest, OldServerIsRefused) {
  answers_["INFO server"] = Text("redis_version:6.2.14\r\n");
  ExpectRefused("runs Redis 6.2.14, but Redis 7.0 or later, or Valkey, is needed: upgrade it");

  answers_["INFO server"] = Text("garbage");
  ExpectRefused("INFO does not tell redis_version: is this Redis?");
}

TEST_F(HandshakeTest, NewerServersAreTaken) {
  for (const char* version : {"7.0.0", "7.2.4", "8.0.1", "10.0.0", "255.255.255"}) {
    answers_["INFO server"] = Text("redis_version:" + std::string(version) + "\r\n");
    Play();
    EXPECT_FALSE(problem_) << version;
  }
}

TEST_F(HandshakeTest, ValkeyIsTakenUnderItsOwnName) {
  answers_["INFO server"] =
      Text("redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n");

  Play();

  EXPECT_FALSE(problem_);
  EXPECT_EQ(facts_.Version(), "Valkey 8.0.1");
}

TEST_F(HandshakeTest, ReplicaIsRefusedNamingItsPrimary) {
  answers_["INFO replication"] = Text("role:slave\r\nmaster_host:10.0.0.7\r\nmaster_port:6380\r\n");
  answers_["ROLE"] = Array({"slave", "10.0.0.7", "6380"});
  const std::string refusal =
      "is a replica of 10.0.0.7:6380: name the primary, or make this server one with `REPLICAOF "
      "NO ONE`";

  ExpectRefused(refusal);
  answers_["ROLE"] = Error("NOPERM no");
  ExpectRefused(refusal);
}

TEST_F(HandshakeTest, RoleMayComeFromEitherOfTwoCommands) {
  answers_["ROLE"] = Error("NOPERM no");
  Play();
  EXPECT_FALSE(problem_);

  answers_["INFO replication"] = Text("");
  ExpectRefused("does not tell its role: allow the user ROLE or INFO");
}

TEST_F(HandshakeTest, AnotherKindOfStoreIsRefusedByTheNameOfItsUrl) {
  answers_["INFO server"] = Text("redis_version:7.0.15\r\nredis_mode:sentinel\r\n");
  ExpectRefused(
      "is a Sentinel: name it by redis+sentinel://host:port/service, or the Redis server that it "
      "watches");

  answers_["INFO server"] = Text("redis_version:7.0.15\r\nredis_mode:cluster\r\n");
  ExpectRefused("is a server of a Cluster: name it by redis+cluster://host:port");
}

// Holders need the connection.
TEST_F(HandshakeTest, EvictionIsAProblemOfTheSettingsAndRefusesNoConnection) {
  const auto problem = [this](const std::string& memory, const Assumptions& assumed = {}) {
    answers_["INFO memory"] = Text(memory);
    Play();
    EXPECT_FALSE(problem_);
    return SettingProblem(facts_, assumed, Expected::kServer);
  };

  const std::string evicting = "maxmemory:100\r\nmaxmemory_policy:volatile-lru\r\n";
  EXPECT_EQ(problem(evicting),
            "may evict locks, its maxmemory-policy is volatile-lru: set `maxmemory-policy "
            "noeviction` (or `maxmemory 0`), or name what is given up with `store.assume: "
            "[no_eviction]`");
  EXPECT_EQ(problem(evicting, {.no_eviction = true}), "");
  EXPECT_EQ(problem("maxmemory:0\r\nmaxmemory_policy:volatile-lru\r\n"), "");
  EXPECT_EQ(problem("maxmemory:100\r\nmaxmemory_policy:noeviction\r\n"), "");
  EXPECT_EQ(problem(""), "does not tell maxmemory and maxmemory_policy: allow the user INFO");
}

// What replicas and the append-only file have in their buffers does not count, as in Redis.
TEST_F(HandshakeTest, FullServerIsAProblemOfTheSettings) {
  const auto problem = [this](const std::string& memory) {
    answers_["INFO memory"] = Text(memory);
    Play();
    EXPECT_FALSE(problem_);
    return SettingProblem(facts_, {.no_eviction = true}, Expected::kServer);
  };

  const std::string bounded = "maxmemory:100\r\nmaxmemory_policy:noeviction\r\n";
  EXPECT_EQ(problem(bounded + "used_memory:101\r\nmem_not_counted_for_evict:0\r\n"),
            "is full: it uses more than its maxmemory of 100 bytes: raise `maxmemory`, or find out "
            "what else fills it");
  EXPECT_EQ(problem(bounded + "used_memory:101\r\nmem_not_counted_for_evict:1\r\n"), "");
  EXPECT_EQ(problem("maxmemory:0\r\nmaxmemory_policy:noeviction\r\nused_memory:101\r\n"), "");
  EXPECT_EQ(problem("maxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\nused_memory:101\r\n"), "")
      << "it makes room";
}

TEST_F(HandshakeTest, SentinelIsAskedWhatItIsAndGetsNoScripts) {
  answers_["INFO server"] = Text("redis_version:7.0.15\r\nredis_mode:sentinel\r\n");
  EXPECT_THAT(Play("redis://u:p@host", Expected::kSentinel),
              ElementsAre("AUTH u p", "PING", "INFO server", "CLIENT SETNAME lockkeeperd:1"));
  EXPECT_FALSE(problem_);

  answers_["INFO server"] = Error("NOPERM no");
  Play("redis://host", Expected::kSentinel);
  EXPECT_FALSE(problem_) << "it need not allow INFO";
}

TEST_F(HandshakeTest, RedisServerIsNoSentinel) {
  answers_["INFO server"] = Text("redis_version:7.0.15\r\nredis_mode:standalone\r\n");
  Play("redis://host", Expected::kSentinel);

  ASSERT_TRUE(problem_);
  EXPECT_EQ(problem_->kind, Kind::kRefused);
  EXPECT_EQ(problem_->text,
            "is a Redis server, not a Sentinel: name Sentinels, or use redis://host:port");
}

TEST_F(HandshakeTest, SentinelHasAPasswordOfItsOwn) {
  answers_["PING"] = Error("NOAUTH Authentication required.");
  Play("redis://host", Expected::kSentinel);

  ASSERT_TRUE(problem_);
  EXPECT_EQ(problem_->kind, Kind::kRefused);
  EXPECT_EQ(problem_->text,
            "demands a password, which is not that of Redis: put it into a file "
            "(store.sentinel_password_file)");
}

TEST_F(HandshakeTest, ReplicaThatSentinelsNameAsPrimaryIsAskedAboutAgain) {
  answers_["ROLE"] = Array({"slave", "10.0.0.7", "6380"});
  Play("redis://host", Expected::kPrimary);

  ASSERT_TRUE(problem_);
  EXPECT_EQ(problem_->kind, Kind::kUnreachable);
  EXPECT_THAT(problem_->text, HasSubstr("though the Sentinels name it as the primary"));
}

// Otherwise it may grant locks for ever after another one took its place.
TEST_F(HandshakeTest, PrimaryOfSentinelsMustStopWithoutReplicas) {
  const auto problem = [this](const std::string& replicas, const std::string& lag,
                              const Assumptions& assumed = {}) {
    answers_["CONFIG GET"] =
        Array({"min-replicas-to-write", replicas, "min-replicas-max-lag", lag});
    Play();
    return SettingProblem(facts_, assumed, Expected::kPrimary);
  };

  EXPECT_EQ(problem("1", "3"), "");
  EXPECT_EQ(facts_.WritesAloneFor(), std::chrono::seconds(5)) << "Redis looks once a second";
  const std::string endless =
      "may go on with writes after the Sentinels have replaced it: set `min-replicas-to-write 1` "
      "and `min-replicas-max-lag 3` (at most 30) on all servers, or name what is given up with "
      "`store.assume: "
      "[no_split_brain]`";
  EXPECT_EQ(problem("0", "10"), endless);
  EXPECT_EQ(facts_.WritesAloneFor(), std::nullopt);
  EXPECT_EQ(problem("1", "0"), endless);
  EXPECT_EQ(problem("1", "30"), "");
  EXPECT_EQ(problem("1", "31"), endless);
  EXPECT_EQ(problem("0", "10", {.no_split_brain = true}), "");
  EXPECT_EQ(SettingProblem(facts_, {}, Expected::kServer), "") << "only its operator replaces it";

  answers_["CONFIG GET"] = Error("NOPERM no");
  Play();
  EXPECT_THAT(SettingProblem(facts_, {}, Expected::kPrimary),
              HasSubstr("does not tell min-replicas-to-write: allow the user CONFIG GET"));
}

TEST_F(HandshakeTest, LoadingServerIsUnreachableNotRefused) {
  answers_["INFO persistence"] = Text("loading:1\r\nloading_loaded_perc:12.50\r\n");
  ExpectUnreachable("is loading its data, 12.50 % so far");

  answers_["INFO persistence"] = Error("LOADING Redis is loading the dataset in memory");
  ExpectUnreachable("answered INFO with: LOADING Redis is loading the dataset in memory");
}

TEST_F(HandshakeTest, PassingErrorsAreUnreachable) {
  for (const char* error : {"BUSY Redis is busy running a script.", "MISCONF disk", "OOM memory",
                            "ERR max number of clients reached"}) {
    answers_["SCRIPT LOAD"] = Error(error);
    ExpectUnreachable("answered SCRIPT LOAD of one with: " + std::string(error));
  }
}

TEST_F(HandshakeTest, ForbiddenScriptLoadIsRefused) {
  answers_["SCRIPT LOAD"] = Error("NOPERM User x has no permissions to run the 'script|load'");

  Play();

  EXPECT_EQ(problem_->kind, Kind::kRefused);
  EXPECT_THAT(problem_->text, HasSubstr("SCRIPT LOAD of one"));
}

TEST_F(HandshakeTest, ForbiddenScriptsAreRefused) {
  answers_["EVALSHA"] = Error("NOPERM User x has no permissions to run the 'evalsha' command");

  ExpectRefused(
      "answered EVALSHA with: NOPERM User x has no permissions to run the 'evalsha' command");
}

TEST_F(HandshakeTest, WhatElseKeepsScriptsFromRunningIsToldByWhatJudgesIt) {
  answers_["EVALSHA"] = Error("MASTERDOWN Link with MASTER is down");
  answers_["ROLE"] = Array({"slave", "10.0.0.7", "6380"});

  Play();

  EXPECT_THAT(problem_->text, HasSubstr("is a replica"));
}

// Holders need the connection.
TEST_F(HandshakeTest, MissingRightsAreAProblemOfTheSettingsAndTheRulesThatAddThemAreNamed) {
  answers_["EVALSHA"] = Array({"&", "+publish", "+setrange", "~"});

  Play();

  EXPECT_FALSE(problem_);
  EXPECT_EQ(SettingProblem(facts_, {.no_eviction = true}, Expected::kServer),
            "does not allow the daemon's user all that locks need: let `ACL SETUSER` add &lk:* "
            "+publish +setrange ~lk:* (docs/operating/redis.md)");
}

TEST_F(HandshakeTest, NameAndNoEvictMayFail) {
  answers_["CLIENT"] = Error("NOPERM no");

  Play();

  EXPECT_FALSE(problem_);
}

TEST_F(HandshakeTest, DiskIsPromisedOnlyIfEverySettingIsKnownToSaySo) {
  Play();
  EXPECT_EQ(facts_.Assurance(), Assurance::kDisk);

  answers_["CONFIG GET"] = Array({"appendfsync", "everysec", "no-appendfsync-on-rewrite", "no"});
  Play();
  EXPECT_EQ(facts_.Assurance(), Assurance::kMemory);

  answers_["CONFIG GET"] = Array({"no-appendfsync-on-rewrite", "yes", "appendfsync", "always"});
  Play();
  EXPECT_EQ(facts_.Assurance(), Assurance::kMemory);

  answers_["CONFIG GET"] = Error("NOPERM no");
  Play();
  EXPECT_EQ(facts_.Assurance(), Assurance::kMemory);
  EXPECT_FALSE(problem_);

  answers_["CONFIG GET"] = Array({"appendfsync", "always", "no-appendfsync-on-rewrite", "no"});
  answers_["INFO persistence"] = Text("loading:0\r\naof_enabled:0\r\n");
  Play();
  EXPECT_EQ(facts_.Assurance(), Assurance::kMemory);
}

}  // namespace
}  // namespace lockkeeper::redis
