// SPDX-License-Identifier: Apache-2.0
// The sample file, the examples and the reference page say what the code does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/config_file.h"
#include "config/config_loader.h"
#include "config/settings.h"
#include "support/source_tree.h"

namespace lockkeeper::config {
namespace {

using support::SourcePath;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SampleConfigTest, ShowsEverySettingWithItsDefault) {
  const FileContents sample = ReadConfigFile(SourcePath("config/lockkeeper.yaml"));
  ASSERT_THAT(sample.problems, IsEmpty());

  Config config;
  std::vector<std::string_view> keys;
  for (const FileValue& value : sample.values) {
    keys.push_back(value.setting->key);
    ASSERT_EQ(Assign(*value.setting, value.value, config), std::nullopt) << value.setting->key;
    EXPECT_EQ(value.value.texts, Show(*value.setting, Config()).texts) << value.setting->key;
  }

  std::vector<std::string_view> all;
  for (const Setting& setting : Settings()) all.push_back(setting.key);
  EXPECT_EQ(keys, all) << "in the order of the table";
}

TEST(SampleConfigTest, EverySettingHasAComment) {
  const std::string text = support::ReadSourceFile("config/lockkeeper.yaml");
  std::string previous;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); previous = line) {
    const bool is_setting = line.starts_with("  ") && !line.starts_with("  #");
    if (is_setting) {
      EXPECT_THAT(previous, HasSubstr("  # ")) << line;
    }
  }
}

TEST(ExampleConfigTest, EveryExampleCanBeUsed) {
  std::set<std::string> examples;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("config"))) {
    const std::string name = entry.path().filename();
    if (name == "lockkeeper.yaml") continue;  // Names no store.
    examples.insert(name);

    const auto loaded = ReadConfig({.file = entry.path(), .user = User::kRoot});

    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE(CheckConfig(*loaded).ok()) << name << ": " << CheckConfig(*loaded);
  }
  EXPECT_EQ(examples, (std::set<std::string>{"central.yaml", "cluster.yaml", "embedded.yaml",
                                             "redis.yaml", "sentinel.yaml", "sidecar.yaml"}));
}

std::string Code(std::string_view text) {
  return text.empty() ? "" : "`" + std::string(text) + "`";
}

std::string DefaultOf(const Setting& setting) {
  const RawValue value = Show(setting, Config());
  const std::string text = absl::StrJoin(value.texts, ", ");
  if (text.empty()) return "empty";
  return Code(setting.is_list() ? "[" + text + "]" : text);
}

std::string ReferenceRow(const Setting& setting) {
  std::string variables = Code(EnvironmentName(setting));
  if (!setting.environment_alias.empty()) variables += ", " + Code(setting.environment_alias);
  return "| " + Code(setting.key) + " | " + DescribeValues(setting) + " | " + DefaultOf(setting) +
         " | " + variables + " | " + Code(setting.flag) + (setting.flag.empty() ? "" : " ") + "| " +
         (setting.reloadable ? "yes " : "") + "| " + std::string(setting.meaning) + " |";
}

TEST(ChartTest, PodsAreKeptForSettingsThatAreReloaded) {
  std::istringstream lines(
      support::ReadSourceFile("deploy/helm/lockkeeper/templates/_helpers.tpl"));
  std::string line;
  while (std::getline(lines, line) && line.find("$reloaded := list") == std::string::npos) {
  }
  std::vector<std::string> keys;
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  for (const std::string& word : words) {
    if (word.starts_with('"')) keys.push_back(word.substr(1, word.size() - 2));
  }

  std::vector<std::string> reloadable;
  for (const Setting& setting : Settings()) {
    if (setting.reloadable) reloadable.emplace_back(setting.key);
  }
  EXPECT_EQ(keys, reloadable);
}

TEST(ConfigReferenceTest, HasARowForEverySetting) {
  std::vector<std::string> rows;
  for (const Setting& setting : Settings()) rows.push_back(ReferenceRow(setting));

  EXPECT_EQ(support::TableRowsOf("docs/reference/config.md"), rows)
      << "the table of docs/reference/config.md has to be:\n"
      << absl::StrJoin(rows, "\n");
}

}  // namespace
}  // namespace lockkeeper::config
