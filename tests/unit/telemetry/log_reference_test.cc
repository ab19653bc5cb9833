// SPDX-License-Identifier: Apache-2.0
// docs/reference/log_events.md lists every event and field of the code, and no other; and some
// record has each field. Reads the sources, since events are named where they happen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "support/source_tree.h"

namespace lockkeeper {
namespace {

using support::CellsOf;
using support::ReadSourceFile;
using support::SourcePath;
using support::TableRowsOf;
using testing::Contains;

constexpr char kReference[] = "docs/reference/log_events.md";

// The first cells of the rows with `columns` cells, without their backticks.
std::vector<std::string> Documented(size_t columns) {
  std::vector<std::string> names;
  for (const std::string& row : TableRowsOf(kReference)) {
    const std::vector<std::string> cells = CellsOf(row);
    if (cells.size() == columns) names.push_back(cells[0].substr(1, cells[0].size() - 2));
  }
  return names;
}

// All first groups of `pattern` in `text`.
std::vector<std::string> Matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

// All .cc files of server/.
std::vector<std::string> TextsOfTheServer() {
  std::vector<std::string> texts;
  const std::string root = SourcePath("server");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".cc") continue;
    const std::string path = "server/" + std::filesystem::relative(entry.path(), root).string();
    texts.push_back(ReadSourceFile(path));
  }
  return texts;
}

// Events are the words with dots that stand first in Debug, Info, Warn and Error, or third in
// WriteLimited.
std::set<std::string> EventsOfTheCode() {
  const std::regex plain(R"(\b(?:Debug|Info|Warn|Error)\(\s*"([a-z_]+(?:\.[a-z_]+)+)\")");
  const std::regex limited(R"(WriteLimited\(\s*\w+,\s*[\w:]+,\s*"([a-z_]+(?:\.[a-z_]+)+)\")");
  std::set<std::string> events;
  for (const std::string& text : TextsOfTheServer()) {
    for (const std::regex& pattern : {plain, limited}) {
      for (const std::string& event : Matches(text, pattern)) events.insert(event);
    }
  }
  return events;
}

TEST(LogReferenceTest, EventsAreFoundInTheCode) {
  EXPECT_THAT(EventsOfTheCode(), Contains("store.up"));
  EXPECT_THAT(EventsOfTheCode(), Contains("rpc.failed"));
}

TEST(LogReferenceTest, HasARowForEveryEvent) {
  const std::vector<std::string> documented = Documented(4);

  EXPECT_THAT(documented, testing::ElementsAreArray(EventsOfTheCode())) << "in alphabetical order";
}

TEST(LogReferenceTest, HasARowForEveryField) {
  const std::vector<std::string> fields =
      Matches(ReadSourceFile("server/telemetry/log_fields.h"), std::regex(R"(return \{"(\w+)\")"));
  ASSERT_GT(fields.size(), 30U);

  std::vector<std::string> documented;
  for (const std::string& name : Documented(3)) documented.push_back(name);
  EXPECT_EQ(documented, fields) << "in the order of log_fields.h";
}

TEST(LogReferenceTest, SomeRecordHasEachField) {
  std::set<std::string> used;
  const std::regex use(R"(\bfield::(\w+))");
  for (const std::string& text : TextsOfTheServer()) {
    for (const std::string& name : Matches(text, use)) used.insert(name);
  }

  for (const std::string& name : Matches(ReadSourceFile("server/telemetry/log_fields.h"),
                                         std::regex(R"(inline LogField (\w+)\()"))) {
    EXPECT_THAT(used, Contains(name)) << "no record has this field";
  }
}

}  // namespace
}  // namespace lockkeeper
