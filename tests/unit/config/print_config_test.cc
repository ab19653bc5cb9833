// SPDX-License-Identifier: Apache-2.0
// --print-config: what it prints can be loaded again and says where each value is from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/config_loader.h"
#include "config/settings.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::config {
namespace {

using testing::HasSubstr;
using testing::Not;

LoadedConfig Load(const ConfigSources& sources) {
  auto loaded = ReadConfig(sources);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : LoadedConfig();
}

TEST(PrintConfigTest, EachSettingHasItsLineWithItsOrigin) {
  const std::string printed =
      PrintConfig(Load({.environment = {{"LOCKKEEPERD_LOG_LEVEL", "warn"}},
                        .flags = {{.flag = "--listen", .values = {"localhost:0", "unix:/x"}}}}));

  EXPECT_THAT(printed, HasSubstr("\n  listen: [\"localhost:0\", \"unix:/x\"]  # flag --listen\n"));
  EXPECT_THAT(printed, HasSubstr("\n  level: warn  # environment LOCKKEEPERD_LOG_LEVEL\n"));
  EXPECT_THAT(printed, HasSubstr("\n  request_timeout: 1s  # default\n"));
  EXPECT_THAT(printed, HasSubstr("\n  embedded: false  # default\n"));
  std::istringstream lines(printed);
  size_t origins = 0;
  for (std::string line; std::getline(lines, line);) origins += line.starts_with("  ") ? 1 : 0;
  EXPECT_EQ(origins, Settings().size()) << printed;
}

TEST(PrintConfigTest, ReadsBackTheSame) {
  const support::TemporaryDirectory directory;
  const LoadedConfig loaded =
      Load({.environment = {{"LOCKKEEPERD_SERVER_LISTEN", "localhost:0,[::1]:0,unix:/a b#\"\\'"},
                            {"LOCKKEEPERD_STORE_KEY_PREFIX", "# \"l\xc3\xb6\\:"},
                            {"LOCKKEEPERD_STORE_REDIS", "redis://u@h:1/3"},
                            {"LOCKKEEPERD_STORE_DATA_DIR", "null"},
                            {"LOCKKEEPERD_DRAIN_TIMEOUT", "1500ms"},
                            {"LOCKKEEPERD_LOG_FORMAT", "json"}},
            .user = User::kRoot});

  std::ofstream(directory.Path("printed.yaml")) << PrintConfig(loaded);
  const LoadedConfig again = Load({.file = directory.Path("printed.yaml")});

  for (const Setting& setting : Settings()) {
    EXPECT_EQ(Show(setting, again.config).texts, Show(setting, loaded.config).texts) << setting.key;
  }
}

TEST(PrintConfigTest, PasswordsAreMasked) {
  const support::TemporaryDirectory directory;
  std::ofstream(directory.Path("password")) << "open";

  const std::string printed = PrintConfig(
      Load({.environment = {{"LOCKKEEPERD_STORE_REDIS", "redis://user:sesame@host:6379/2"},
                            {"LOCKKEEPERD_REDIS_PASSWORD_FILE", directory.Path("password")}}}));

  EXPECT_THAT(printed, HasSubstr("redis: \"redis://user:***@host:6379/2\"  # environment"));
  EXPECT_THAT(printed, Not(HasSubstr("sesame")));
  EXPECT_THAT(printed, Not(HasSubstr("open")));
}

}  // namespace
}  // namespace lockkeeper::config
