// SPDX-License-Identifier: Apache-2.0
//
// Holds docs/reference/marker.md and the functions of the scripts against the columns at the head
// of scripts/frame.lua, and the example of the page against the reader.
#include <map>
#include <regex>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/format/marker_columns.h"
#include "redis/format/store_marker.h"
#include "support/source_tree.h"
#include "unit/docs/script_columns.h"

namespace lockkeeper {
namespace {

namespace marker_column = redis::marker_column;

constexpr char kPage[] = "docs/reference/marker.md";
constexpr char kScript[] = "server/redis/scripts/frame.lua";
constexpr char kMarkerScript[] = "server/redis/scripts/marker.lua";

// The whole number that `pattern` has as its only group in `text`.
int NumberIn(const std::string& text, const std::string& pattern) {
  const auto found = FindAll(text, std::regex(pattern));
  EXPECT_EQ(found.size(), 1U) << pattern;
  return found.size() == 1 ? std::stoi(found[0][0]) : 0;
}

TEST(MarkerPageTest, TableHasTheColumnsOfTheScripts) {
  EXPECT_THAT(ColumnsInTable(support::ReadSourceFile(kPage)),
              testing::ElementsAreArray(ColumnsAtHeadOf(kScript)));
}

TEST(MarkerPageTest, StampEndsWithTheDurability) {
  const auto stamp_end = static_cast<int>(marker_column::kDurability.last);

  EXPECT_EQ(NumberIn(support::ReadSourceFile(kPage), R"(Columns 1 to (\d+) are the stamp)"),
            stamp_end);
  EXPECT_EQ(NumberIn(support::ReadSourceFile(kScript),
                     R"(local function stamp_of\(marker\) return sub\(marker, 1, (\d+)\))"),
            stamp_end);
}

TEST(MarkerPageTest, ExampleIsAMarkerThatTheDaemonReads) {
  std::string text = support::FencedBlockIn(support::ReadSourceFile(kPage));
  text.pop_back();  // The last line break belongs to the page, as those behind a `\` do.
  text = std::regex_replace(text, std::regex(R"(\\\n)"), "");

  const auto seen = redis::ParseMarker(text);

  ASSERT_TRUE(seen) << text;
  EXPECT_EQ(seen->marker.epoch, 2);
  EXPECT_EQ(seen->marker.ttl_ceiling, core::Millis(5'000));
  EXPECT_EQ(seen->beat.count, 2);
}

TEST(MarkerScriptsTest, FunctionsReadTheColumnsOfTheirName) {
  const std::regex function(R"(local function (expected_)?(\w+?)(_of)?\((marker)?\) return )"
                            R"(sub\([\w\[\]]+, (\d+), (\d+)\))");
  const std::map<std::string, std::string> columns = ColumnsByName(kScript);
  int checked = 0;
  for (const Strings& found : FindAll(support::ReadSourceFile(kScript), function)) {
    if (found[1] == "stamp") continue;
    ++checked;
    EXPECT_EQ(found[4] + "-" + found[5], columns.at(found[1])) << found[1];
  }
  EXPECT_EQ(checked, 4);
}

TEST(MarkerScriptsTest, NoScriptCutsTheMarkerByNumbersOfItsOwn) {
  const std::regex cut(R"(sub\((marker|stamp|ARGV\[6\]), \d)");
  for (const char* const script : {"acquire", "extend", "fence", "force_release", "inspect", "line",
                                   "poll", "reassert", "record", "release", "withdraw"}) {
    const std::string path = std::string("server/redis/scripts/") + script + ".lua";
    EXPECT_THAT(FindAll(support::ReadSourceFile(path), cut), testing::IsEmpty()) << path;
  }
}

TEST(MarkerScriptsTest, BeatIsWhereTheMarkerScriptWritesIt) {
  const std::string frame = support::ReadSourceFile(kScript);
  const std::string script = support::ReadSourceFile(kMarkerScript);
  const auto end = static_cast<int>(marker_column::kBeatTime.last);
  const auto beat_last = static_cast<int>(marker_column::kBeat.last);

  EXPECT_EQ(NumberIn(frame, "local MARKER_END = '(\\d+)'") + 1, beat_last);
  EXPECT_EQ(NumberIn(frame, R"(beats_wanted\(stamp\) return sub\(stamp, (\d+)\))"),
            static_cast<int>(marker_column::kDurability.last) + 2);
  EXPECT_EQ(NumberIn(script, R"(local BEAT_LENGTH = (\d+))"),
            end - static_cast<int>(marker_column::kClockOffset.last));
  const int first = NumberIn(script, R"(local COUNT_FIRST, COUNT_LAST = (-\d+), -\d+)");
  const int last = NumberIn(script, R"(local COUNT_FIRST, COUNT_LAST = -\d+, (-\d+))");
  EXPECT_EQ(end + first + 1, static_cast<int>(marker_column::kBeat.first));
  EXPECT_EQ(end + last + 1, beat_last);
}

}  // namespace
}  // namespace lockkeeper
