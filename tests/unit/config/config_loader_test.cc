// SPDX-License-Identifier: Apache-2.0
// Which source wins, where a value is from, and what is refused besides what a file may not have.
#include "config/config_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/process/temporary_directory.h"

namespace lockkeeper::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ReadConfigTest : public testing::Test {
 protected:
  // Writes `text` and returns its path.
  std::string Write(const std::string& name, std::string_view text) {
    std::ofstream(directory_.Path(name)) << text;
    return directory_.Path(name);
  }

  LoadedConfig Load() {
    auto loaded = ReadConfig(sources_);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : LoadedConfig();
  }

  std::string Problems() {
    const auto loaded = ReadConfig(sources_);
    return loaded.ok() ? "none" : std::string(loaded.status().message());
  }

  const support::TemporaryDirectory directory_;
  ConfigSources sources_{.environment = {{"HOME", "/home/me"}}};
};

TEST_F(ReadConfigTest, WithoutSourcesAllIsDefault) {
  const LoadedConfig loaded = Load();

  EXPECT_THAT(loaded.config.server.listen, ElementsAre("127.0.0.1:7600"));
  EXPECT_EQ(loaded.config.store.request_timeout, Millis(1000));
  for (const auto& [key, origin] : loaded.origins) EXPECT_EQ(origin, "default") << key;
}

TEST_F(ReadConfigTest, FileWinsOverDefaults) {
  sources_.file = Write("lk.yaml", "server:\n  connections_max: 2\n");

  const LoadedConfig loaded = Load();

  EXPECT_EQ(loaded.config.server.connections_max, 2);
  EXPECT_EQ(loaded.origins.at("server.connections_max"), sources_.file + ":2");
  EXPECT_EQ(loaded.origins.at("server.listen"), "default");
}

TEST_F(ReadConfigTest, EnvironmentWinsOverFile) {
  sources_.file = Write("lk.yaml", "server:\n  connections_max: 2\n  http_listen: localhost:1\n");
  sources_.environment.emplace_back("LOCKKEEPERD_SERVER_CONNECTIONS_MAX", "3");

  const LoadedConfig loaded = Load();

  EXPECT_EQ(loaded.config.server.connections_max, 3);
  EXPECT_EQ(loaded.origins.at("server.connections_max"),
            "environment LOCKKEEPERD_SERVER_CONNECTIONS_MAX");
  EXPECT_EQ(loaded.config.server.http_listen, "localhost:1");
}

TEST_F(ReadConfigTest, FlagsWinOverAll) {
  sources_.file = Write("lk.yaml", "server:\n  listen: [\"localhost:1\", \"localhost:2\"]\n");
  sources_.environment.emplace_back("LOCKKEEPERD_SERVER_LISTEN", "localhost:3");
  sources_.flags = {{.flag = "--listen", .values = {"localhost:4", "unix:/x"}}};

  const LoadedConfig loaded = Load();

  EXPECT_THAT(loaded.config.server.listen, ElementsAre("localhost:4", "unix:/x"));
  EXPECT_EQ(loaded.origins.at("server.listen"), "flag --listen");
}

TEST_F(ReadConfigTest, EveryFlagReachesItsSetting) {
  sources_.flags = {{.flag = "--listen", .values = {"localhost:1"}},
                    {.flag = "--http-listen", .values = {"localhost:2"}},
                    {.flag = "--redis", .values = {"redis://h:3"}},
                    {.flag = "--embedded", .values = {"true"}},
                    {.flag = "--data-dir", .values = {"/d"}}};

  const LoadedConfig loaded = Load();

  EXPECT_THAT(loaded.config.server.listen, ElementsAre("localhost:1"));
  EXPECT_EQ(loaded.config.server.http_listen, "localhost:2");
  EXPECT_EQ(loaded.config.store.redis.reveal(), "redis://h:3");
  EXPECT_TRUE(loaded.config.store.embedded);
  EXPECT_EQ(loaded.config.store.data_dir, "/d");
}

TEST_F(ReadConfigTest, ListInEnvironmentIsSplitAtCommas) {
  sources_.environment.emplace_back("LOCKKEEPERD_SERVER_LISTEN", "localhost:1, [::1]:2,unix:/x");

  EXPECT_THAT(Load().config.server.listen, ElementsAre("localhost:1", "[::1]:2", "unix:/x"));
}

TEST_F(ReadConfigTest, OtherVariablesAreLeftAlone) {
  sources_.environment.emplace_back("LOCKKEEPER_SERVER", "x");
  sources_.environment.emplace_back("LOCKKEEPERD", "x");
  sources_.environment.emplace_back("lockkeeperd_server_connections_max", "9");

  EXPECT_EQ(Load().config.server.connections_max, Config().server.connections_max);
}

TEST_F(ReadConfigTest, UnknownVariableIsRefusedWithTheNearest) {
  sources_.environment.emplace_back("LOCKKEEPERD_SERVER_LISTN", "localhost:1");

  EXPECT_EQ(Problems(),
            "environment LOCKKEEPERD_SERVER_LISTN: unknown variable; did you mean "
            "LOCKKEEPERD_SERVER_LISTEN?");
}

TEST_F(ReadConfigTest, VariableOfKubernetesIsRefusedWithAHint) {
  sources_.environment.emplace_back("LOCKKEEPERD_SERVICE_HOST", "10.0.0.1");
  sources_.environment.emplace_back("LOCKKEEPERD_PORT_7600_TCP", "tcp://10.0.0.1:7600");

  EXPECT_THAT(Problems(), HasSubstr("environment LOCKKEEPERD_SERVICE_HOST: unknown variable; "
                                    "Kubernetes sets it"));
  EXPECT_THAT(Problems(), HasSubstr("LOCKKEEPERD_PORT_7600_TCP: unknown variable; Kubernetes"));
}

TEST_F(ReadConfigTest, RefusedValueNamesItsOrigin) {
  sources_.environment.emplace_back("LOCKKEEPERD_STORE_REQUEST_TIMEOUT", "5");
  sources_.flags = {{.flag = "--listen", .values = {"7600"}}};

  EXPECT_THAT(Problems(), HasSubstr("environment LOCKKEEPERD_STORE_REQUEST_TIMEOUT: "
                                    "store.request_timeout: \"5\" is a bare number"));
  EXPECT_THAT(Problems(), HasSubstr("flag --listen: server.listen: \"7600\" has no port"));
}

TEST_F(ReadConfigTest, UnknownAssumptionIsRefusedWithTheKnownOnes) {
  sources_.file = Write("lk.yaml", "store:\n  assume: [durable, no_evicton]\n");
  EXPECT_THAT(Problems(),
              HasSubstr(sources_.file + ":2: store.assume: must be no_eviction, durable or "
                                        "no_split_brain, is \"no_evicton\""));

  sources_.file = Write("lk.yaml", "store:\n  assume: [durable, no_eviction]\n");
  EXPECT_THAT(Load().config.store.assume, ElementsAre("durable", "no_eviction"));
}

TEST_F(ReadConfigTest, EmptyListInEnvironmentIsRefused) {
  sources_.environment.emplace_back("LOCKKEEPERD_SERVER_LISTEN", "");

  EXPECT_THAT(Problems(), HasSubstr("at least one entry"));
}

TEST_F(ReadConfigTest, UnknownFlagIsRefused) {
  sources_.flags = {{.flag = "--nonsense", .values = {"1"}}};

  EXPECT_EQ(Problems(), "flag --nonsense: unknown");
}

TEST_F(ReadConfigTest, FlagWithTwoValuesForOneIsRefused) {
  sources_.flags = {{.flag = "--data-dir", .values = {"/a", "/b"}}};

  EXPECT_THAT(Problems(), HasSubstr("flag --data-dir: store.data_dir: must be one value"));
}

TEST_F(ReadConfigTest, ProblemsOfAllSourcesAreToldAtOnce) {
  sources_.file = Write("lk.yaml", "a: 1\nserver:\n  connections_max: 0\n");
  sources_.environment.emplace_back("LOCKKEEPERD_B", "1");
  sources_.flags = {{.flag = "--listen", .values = {"c"}}};

  const std::string problems = Problems();

  EXPECT_THAT(problems, HasSubstr(sources_.file + ":1: unknown section \"a\""));
  EXPECT_THAT(problems,
              HasSubstr(sources_.file + ":3: server.connections_max: must be from 1 to 1000000"));
  EXPECT_THAT(problems, HasSubstr("\nenvironment LOCKKEEPERD_B: "));
  EXPECT_THAT(problems, HasSubstr("\nflag --listen: "));
}

// A wrong line stays wrong, although something stronger hides it.
TEST_F(ReadConfigTest, RefusedValueThatIsOverriddenIsStillTold) {
  sources_.file = Write("lk.yaml", "server:\n  connections_max: 0\n");
  sources_.environment.emplace_back("LOCKKEEPERD_SERVER_CONNECTIONS_MAX", "2");

  EXPECT_THAT(Problems(), HasSubstr(":2: server.connections_max: must be from 1 to 1000000, is 0"));
}

// --- the password file ------------------------------------------------------------------------

TEST_F(ReadConfigTest, PasswordFileHasTwoNames) {
  const std::string path = Write("password", "se same\r\n");
  for (const std::string name :
       {"LOCKKEEPERD_REDIS_PASSWORD_FILE", "LOCKKEEPERD_STORE_REDIS_PASSWORD_FILE"}) {
    sources_.environment = {{name, path}};

    const LoadedConfig loaded = Load();

    EXPECT_EQ(loaded.config.store.redis_password_file, path);
    EXPECT_EQ(loaded.origins.at("store.redis_password_file"), "environment " + name);
    EXPECT_EQ(loaded.password_problems.size(), 0U);
  }
}

TEST_F(ReadConfigTest, PasswordFileUnderBothNamesIsRefused) {
  const std::string path = Write("password", "sesame");
  sources_.environment = {{"LOCKKEEPERD_STORE_REDIS_PASSWORD_FILE", path},
                          {"LOCKKEEPERD_REDIS_PASSWORD_FILE", path}};

  EXPECT_THAT(Problems(), HasSubstr("environment LOCKKEEPERD_REDIS_PASSWORD_FILE: "
                                    "store.redis_password_file: given twice, first by "
                                    "LOCKKEEPERD_STORE_REDIS_PASSWORD_FILE"));
}

TEST_F(ReadConfigTest, UnusablePasswordFileIsToldWithoutShowingIt) {
  const std::string missing = directory_.Path("missing");
  const std::pair<std::string, std::string> cases[] = {
      {missing, "cannot be opened: No such file or directory"},
      {Write("empty", ""), "is empty"},
      {Write("newline", "\n"), "is empty"},
      {"/dev/null", "has to be a regular file, since it is read again when it changes"},
      {Write("two_lines", "sesame\nopen\n"), "has more than one line"},
      {Write("long", std::string(4097, 's')), "has more than 4096 bytes"}};
  for (const auto& [path, problem] : cases) {
    sources_.environment = {{"LOCKKEEPERD_REDIS_PASSWORD_FILE", path}};

    EXPECT_EQ(Load().password_problems["store.redis_password_file"], "\"" + path + "\" " + problem);
  }
}

// --- the data folder --------------------------------------------------------------------------

TEST_F(ReadConfigTest, DataDirDependsOnTheUser) {
  sources_.user = User::kRoot;
  EXPECT_EQ(Load().config.store.data_dir, "/var/lib/lockkeeper");

  sources_.user = User::kOther;
  EXPECT_EQ(Load().config.store.data_dir, "/home/me/.local/state/lockkeeper");

  sources_.environment.emplace_back("XDG_STATE_HOME", "/state");
  EXPECT_EQ(Load().config.store.data_dir, "/state/lockkeeper");
}

TEST_F(ReadConfigTest, RelativeStateHomeIsLeftAlone) {
  sources_.environment.emplace_back("XDG_STATE_HOME", "state");

  EXPECT_EQ(Load().config.store.data_dir, "/home/me/.local/state/lockkeeper");
}

TEST_F(ReadConfigTest, GivenDataDirWins) {
  sources_.user = User::kRoot;
  sources_.environment.emplace_back("LOCKKEEPERD_STORE_DATA_DIR", "/srv/lk");

  EXPECT_EQ(Load().config.store.data_dir, "/srv/lk");
}

TEST(EnvironmentOfTest, SplitsAtTheFirstEqualsSign) {
  const char* const variables[] = {"A=1", "B=x=y", "C=", "no_equals", nullptr};

  EXPECT_THAT(EnvironmentOf(variables),
              ElementsAre(std::pair("A", "1"), std::pair("B", "x=y"), std::pair("C", "")));
}

}  // namespace
}  // namespace lockkeeper::config
