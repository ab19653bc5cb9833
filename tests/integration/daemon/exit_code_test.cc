// SPDX-License-Identifier: Apache-2.0
// Why a daemon does not start: the exit code says to whom it matters, the text what to change.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "integration/daemon/fixture.h"

namespace lockkeeper {
namespace {

using support::DaemonProcess;
using support::RedisServer;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kUsage = 64;
constexpr int kUnavailable = 69;
constexpr int kBadConfiguration = 78;

class ExitCodeTest : public DaemonTest {
 protected:
  // The daemon ends with `code`, says nothing on stdout, and `text` on stderr.
  static void ExpectEnd(DaemonProcess& daemon, int code, const std::string& text) {
    EXPECT_EQ(daemon.ExitCode(), code) << daemon.Stderr();
    EXPECT_THAT(daemon.Stderr(), HasSubstr(text));
    EXPECT_THAT(daemon.Stdout(), IsEmpty());
  }

  std::string WriteConfig(const std::string& text) {
    std::ofstream(directory_.Path("config.yaml")) << text;
    return directory_.Path("config.yaml");
  }
};

TEST_F(ExitCodeTest, UnknownFlagIsAUsageError) {
  ExpectEnd(*Launch({"--embeded"}), kUsage, "--embeded");
}

TEST_F(ExitCodeTest, FlagWithoutItsValueIsAUsageError) {
  ExpectEnd(*Launch({"--redis"}), kUsage, "--redis");
}

TEST_F(ExitCodeTest, WordThatIsNoFlagIsAUsageError) {
  ExpectEnd(*Launch({"--listen", "127.0.0.1:0", "127.0.0.1:1"}), kUsage, "127.0.0.1:1");
}

TEST_F(ExitCodeTest, VersionAndHelpAreNoErrors) {
  const auto version = Launch({"--version"});
  EXPECT_EQ(version->ExitCode(), 0);
  EXPECT_THAT(version->Stdout(), testing::StartsWith("lockkeeperd "));
  const auto help = Launch({"--help"});
  EXPECT_EQ(help->ExitCode(), 0);
  EXPECT_THAT(help->Stdout(), HasSubstr("--http-listen"));
}

TEST_F(ExitCodeTest, WithoutAStoreBothWaysAreNamed) {
  const auto daemon = LaunchOnAnyPort({});
  ExpectEnd(*daemon, kBadConfiguration, "--redis");
  EXPECT_THAT(daemon->Stderr(), HasSubstr("--embedded"));
}

TEST_F(ExitCodeTest, TwoStoresAreRefused) {
  ExpectEnd(*LaunchOnAnyPort({"--embedded", "--redis", "redis://127.0.0.1"}), kBadConfiguration,
            "two stores");
}

TEST_F(ExitCodeTest, MalformedStoreUrlIsRefused) {
  ExpectEnd(*LaunchOnAnyPort({"--redis", "http://127.0.0.1"}), kBadConfiguration, "store.redis");
}

TEST_F(ExitCodeTest, UnknownKeyIsNamedByFileAndLine) {
  const std::string file = WriteConfig("server:\n  allow_insecure: false\n  shards: 2\n");
  ExpectEnd(*LaunchOnAnyPort({"--embedded", "--config", file}), kBadConfiguration,
            "config.yaml:3: unknown key \"server.shards\"");
}

TEST_F(ExitCodeTest, MissingFileIsNamed) {
  ExpectEnd(*LaunchOnAnyPort({"--embedded", "--config", directory_.Path("none.yaml")}),
            kBadConfiguration, "none.yaml");
}

TEST_F(ExitCodeTest, UnknownVariableIsRefused) {
  ExpectEnd(*Launch({"--embedded"}, {{"LOCKKEEPERD_STORE_REDISS", "x"}}), kBadConfiguration,
            "LOCKKEEPERD_STORE_REDISS");
}

TEST_F(ExitCodeTest, ListeningBeyondLoopbackHasToBeAllowed) {
  ExpectEnd(*Launch({"--embedded", "--listen", "0.0.0.0:0"}), kBadConfiguration,
            "server.allow_insecure");
  ExpectEnd(*Launch({"--embedded", "--http-listen", "[::]:0"}), kBadConfiguration,
            "server.allow_insecure");
}

TEST_F(ExitCodeTest, FlagAllowsListeningBeyondLoopback) {
  const auto allowed = Launch({"--embedded", "--data-dir", directory_.Path("d"), "--listen",
                               "0.0.0.0:0", "--allow-insecure", "--check-config"});
  EXPECT_EQ(allowed->ExitCode(), 0) << allowed->Stderr();
}

TEST_F(ExitCodeTest, WrongOptionIsNamedWithTheRightOne) {
  ExpectEnd(*Launch({"--embeded"}), kUsage,
            "unknown option `--embeded`; did you mean `--embedded`?");
  ExpectEnd(*Launch({"--log-level", "debug"}), kUsage,
            "unknown option `--log-level`; set log.level in the file of --config, or "
            "LOCKKEEPERD_LOG_LEVEL in the environment");
  ExpectEnd(*Launch({"--port", "5"}), kUsage, "unknown option `--port` (see");
  ExpectEnd(*Launch({"--listen"}), kUsage, "`--listen` needs a value");
  ExpectEnd(*Launch({"--data-dir", "a", "--data-dir", "b"}), kUsage, "`--data-dir` is given twice");
  ExpectEnd(*Launch({"--config", ""}), kUsage, "--config: the name of the file is empty");
  ExpectEnd(*Launch({"serve"}), kUsage, "unexpected argument `serve`");
}

TEST_F(ExitCodeTest, AllowedListeningBeyondLoopbackWorks) {
  const RedisServer redis;
  const std::string file = WriteConfig("server:\n  allow_insecure: true\n");
  const auto daemon = Launch(
      {"--config", file, "--listen", "0.0.0.0:0", "--http-listen", "", "--redis", redis.url()});
  daemon->WaitUntilReady();
  EXPECT_THAT(daemon->GrpcAddress(), testing::StartsWith("0.0.0.0:"));
}

TEST_F(ExitCodeTest, CheckConfigTellsGoodFromBad) {
  const auto good = Launch({"--embedded", "--data-dir", directory_.Path("d"), "--check-config"});
  EXPECT_EQ(good->ExitCode(), 0) << good->Stderr();
  ExpectEnd(*Launch({"--check-config"}), kBadConfiguration, "no store is given");
}

TEST_F(ExitCodeTest, PrintConfigMasksSecretsAndTellsOrigins) {
  const auto daemon = Launch({"--redis", "redis://u:hunter2@127.0.0.1", "--print-config"});
  EXPECT_EQ(daemon->ExitCode(), 0) << daemon->Stderr();
  EXPECT_THAT(daemon->Stdout(), HasSubstr("flag --redis"));
  EXPECT_THAT(daemon->Stdout(), HasSubstr("default"));
  EXPECT_THAT(daemon->Stdout(), testing::Not(HasSubstr("hunter2")));
}

TEST_F(ExitCodeTest, TakenPortIsNamed) {
  const RedisServer redis;
  const auto first = Start({"--redis", redis.url()});
  const std::string grpc = first->GrpcAddress();
  const std::string http = first->HttpAddress();

  ExpectEnd(*Launch({"--listen", grpc, "--http-listen", "", "--redis", redis.url()}), kUnavailable,
            grpc + ": Address already in use");
  ExpectEnd(*Launch({"--listen", "127.0.0.1:0", "--http-listen", http, "--redis", redis.url()}),
            kUnavailable, http);
}

TEST_F(ExitCodeTest, UnixSocketInUseIsNamed) {
  const RedisServer redis;
  const std::string socket = "unix:" + directory_.Path("s");
  const auto first = Start({"--listen", socket, "--redis", redis.url()});

  ExpectEnd(*Launch({"--listen", socket, "--http-listen", "", "--redis", redis.url()}),
            kUnavailable, socket + ": in use by another daemon");

  EXPECT_TRUE(support::LockClient(socket).GetServerInfo().status.ok());
}

TEST_F(ExitCodeTest, StoreThatMayEvictLocksIsRefused) {
  const RedisServer redis({.settings = {"maxmemory 100mb", "maxmemory-policy allkeys-lru"}});
  const auto daemon = LaunchOnAnyPort({"--redis", redis.url()});
  ExpectEnd(*daemon, kUnavailable, "maxmemory-policy noeviction");
  EXPECT_THAT(daemon->Stderr(), testing::Not(HasSubstr("tried again"))) << "it ends";
  EXPECT_THAT(daemon->Stderr(), testing::Not(HasSubstr("until it is back"))) << "it ends";
}

TEST_F(ExitCodeTest, ReplicaIsRefused) {
  const RedisServer primary({.listening = support::Listening::kUnixSocketAndTcp});
  const RedisServer replica(
      {.settings = {"replicaof 127.0.0.1 " + std::to_string(primary.port())}});
  ExpectEnd(*LaunchOnAnyPort({"--redis", replica.url()}), kUnavailable, "is a replica");
}

TEST_F(ExitCodeTest, WrongPasswordIsRefused) {
  const RedisServer redis(
      {.listening = support::Listening::kUnixSocketAndTcp, .settings = {"requirepass right"}});
  const auto daemon =
      LaunchOnAnyPort({"--redis", "redis://:wrong@127.0.0.1:" + std::to_string(redis.port())});
  ExpectEnd(*daemon, kUnavailable, "password");
  EXPECT_THAT(daemon->Stderr(), testing::Not(HasSubstr("wrong")));
}

TEST_F(ExitCodeTest, EmbeddedStoreWithoutAProgramIsNamed) {
  const std::string file = WriteConfig("store:\n  embedded_program: /nonexistent/redis-server\n");
  ExpectEnd(
      *LaunchOnAnyPort({"--embedded", "--data-dir", directory_.Path("data"), "--config", file}),
      kUnavailable, "/nonexistent/redis-server");
}

}  // namespace
}  // namespace lockkeeper
