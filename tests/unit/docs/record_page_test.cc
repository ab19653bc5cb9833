// SPDX-License-Identifier: Apache-2.0
//
// Holds docs/reference/record.md and the functions of scripts/record.lua against the columns at its
// head, and the example of the page against the reader.
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/format/lock_record.h"
#include "redis/format/record_columns.h"
#include "support/source_tree.h"
#include "unit/docs/script_columns.h"

namespace lockkeeper {
namespace {

constexpr char kPage[] = "docs/reference/record.md";
constexpr char kScript[] = "server/redis/scripts/record.lua";

// The example as it stands in Redis: the page folds its header at lines that end with `\`.
std::string ExampleRecord() {
  std::string record = support::FencedBlockIn(support::SectionOf(kPage, "## An example"));
  record.pop_back();  // The last line break belongs to the page.
  record = std::regex_replace(record, std::regex(R"(\\\n)"), "");
  return std::regex_replace(record, std::regex("<tab>"), "\t");
}

TEST(RecordPageTest, TableHasTheColumnsOfTheScripts) {
  EXPECT_THAT(ColumnsInTable(support::SectionOf(kPage, "## Columns")),
              testing::ElementsAreArray(ColumnsAtHeadOf(kScript)));
}

TEST(RecordScriptTest, FunctionsReadTheColumnsOfTheirName) {
  const std::regex function(
      R"(local function (\w+)_of\(record\) return .*sub\(record, (\d+), (\d+)\))");
  const std::map<std::string, std::string> columns = ColumnsByName(kScript);
  int checked = 0;
  for (const Strings& found : FindAll(support::ReadSourceFile(kScript), function)) {
    const auto column = columns.find(found[0]);
    if (column == columns.end() || found[0] == "digest") continue;  // With the space before it.
    ++checked;
    const bool is_one = found[1] == found[2];
    EXPECT_EQ(is_one ? found[1] : found[1] + "-" + found[2], column->second) << found[0] << "_of";
  }
  EXPECT_EQ(checked, 16);
}

TEST(RecordScriptTest, SetrangeOverwritesFromTheColumnOfItsName) {
  const std::string script = support::ReadSourceFile(kScript);
  const std::regex offsets(R"(local (STATE_AT, [A-Z_, ]+) = ([0-9', ]+)\n)");
  const std::vector<Strings> found = FindAll(script, offsets);
  ASSERT_EQ(found.size(), 1U);
  const std::vector<Strings> names = FindAll(found[0][0], std::regex("(\\w+)_AT"));
  const std::vector<Strings> values = FindAll(found[0][1], std::regex("'(\\d+)'"));
  ASSERT_EQ(names.size(), values.size());

  const std::map<std::string, std::string> columns = ColumnsByName(kScript);
  for (size_t i = 0; i < names.size(); ++i) {
    std::string name = names[i][0];
    for (char& c : name) c = absl::ascii_tolower(c);
    EXPECT_EQ(std::stoi(values[i][0]) + 1, std::stoi(columns.at(name))) << name;
  }
}

TEST(RecordPageTest, ExampleIsARecordThatTheDaemonReads) {
  constexpr core::NodeTime kBeforeItsEnd{1'795'262'940'000'000};

  const auto lock =
      redis::ReadRecord("backup", ExampleRecord(), kBeforeItsEnd, redis::Doubt::kNone);

  ASSERT_TRUE(lock.ok()) << lock.status();
  ASSERT_TRUE(lock->has_value());
  EXPECT_EQ((*lock)->state, core::LockState::kHeld);
  EXPECT_EQ((*lock)->token.value, 1'795'262'921'617'788);
  EXPECT_EQ((*lock)->owner, "backup on host-7");
  EXPECT_THAT((*lock)->labels, testing::ElementsAre(testing::Pair("team", "storage"),
                                                    testing::Pair("job", "nightly")));
  EXPECT_EQ((*lock)->ttl, core::Millis(30'000));
}

TEST(RecordPageTest, DigestOfTheExampleIsThatOfItsLeaseId) {
  const std::string record = ExampleRecord();
  const redis::Column lease_id_and_digest{redis::column::kLeaseId.first,
                                          redis::column::kDigest.last};
  const std::string_view columns = lease_id_and_digest.Of(record);
  const auto lease_id = core::LeaseId::Parse(redis::column::kLeaseId.Of(record));

  ASSERT_TRUE(lease_id);
  EXPECT_EQ(redis::EncodeLeaseId(*lease_id), columns);
}

}  // namespace
}  // namespace lockkeeper
