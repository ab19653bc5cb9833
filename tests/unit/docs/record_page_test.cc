// SPDX-License-Identifier: Apache-2.0
//
// Holds docs/reference/record.md against scripts/record.lua, and its example against the reader.
#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/format/lock_record.h"
#include "support/source_tree.h"

namespace lockkeeper {
namespace {

using Row = std::vector<std::string>;

constexpr char kPage[] = "docs/reference/record.md";

// Columns and names as the comment at the head of record.lua lists them.
std::vector<Row> ColumnsOfScript() {
  const std::string script = support::ReadSourceFile("server/redis/scripts/record.lua");
  const size_t begin = script.find("--     1 format");
  const std::string list = script.substr(begin, script.find("\n--\n", begin) - begin);
  const std::regex column(R"((\d+)(- ?(\d+))? (\w+( \w+)*))");
  std::vector<Row> rows;
  for (std::sregex_iterator found(list.begin(), list.end(), column), end; found != end; ++found) {
    const std::string last = (*found)[3];
    rows.push_back({(*found)[1].str() + (last.empty() ? "" : "-" + last), (*found)[4]});
  }
  return rows;
}

// The example as it stands in Redis: the page folds its header at lines that end with `\`.
std::string ExampleRecord() {
  std::string record = support::FencedBlockIn(support::SectionOf(kPage, "## An example"));
  record.pop_back();  // The last line break belongs to the page.
  record = std::regex_replace(record, std::regex(R"(\\\n)"), "");
  return std::regex_replace(record, std::regex("<tab>"), "\t");
}

TEST(RecordPageTest, TableHasTheColumnsOfTheScripts) {
  std::vector<Row> rows;
  for (const std::string& row : support::TableRowsIn(support::SectionOf(kPage, "## Columns"))) {
    rows.push_back(support::CellsOf(row));
    rows.back().resize(2);  // What follows is explanation.
  }

  EXPECT_THAT(rows, testing::ElementsAreArray(ColumnsOfScript()));
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
  constexpr size_t kLeaseIdColumn = 111;
  constexpr size_t kDigestEnd = 152;
  const std::string columns = ExampleRecord().substr(kLeaseIdColumn, kDigestEnd - kLeaseIdColumn);
  const auto lease_id = core::LeaseId::Parse(columns.substr(0, core::HexId::kLength));

  ASSERT_TRUE(lease_id);
  EXPECT_EQ(redis::EncodeLeaseId(*lease_id), columns);
}

}  // namespace
}  // namespace lockkeeper
