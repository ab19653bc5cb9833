// SPDX-License-Identifier: Apache-2.0
#include "cli/top/lock_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "cli/columns.h"
#include "text/utf8.h"

namespace lockkeeper::cli {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using Wish = LockTable::Wish;

class LockTableTest : public testing::Test {
 protected:
  LockTableTest() {
    table_.SetRows(
        {{.name = "b", .state = "held", .holder = "ci", .age = 10s, .left = 5s, .rate = 12.6},
         {.name = "c", .state = "closed", .holder = "-", .left = 2s, .waiters = 7, .rate = 0.25},
         {.name = "a", .state = "held", .holder = "ann", .age = 90s, .left = 30s}},
        "");
  }

  static std::vector<std::string> LinesOf(const std::string& screen) {
    return absl::StrSplit(screen, '\n');
  }
  std::vector<std::string> Screen(size_t width = 80, size_t height = 24) {
    return table_.Draw("title", width, height).lines;
  }
  // The first word of the line that is highlighted.
  std::string Selected(size_t height = 24) {
    const TableImage image = table_.Draw("title", 80, height);
    if (!image.selected) return "none";
    const std::string& line = image.lines.at(*image.selected);
    return line.substr(0, line.find(' '));
  }
  void ShowNumbers(int first, int end) {
    std::vector<TableRow> rows;
    for (int i = first; i < end; ++i) {
      rows.push_back({.name = std::to_string(i), .state = "held", .holder = "ci"});
    }
    table_.SetRows(rows, "there are more");
  }
  // The names from top to bottom.
  std::string Names() const {
    std::string names;
    for (const std::string& line : LinesOf(table_.Print())) names += line.substr(0, 1);
    return names.substr(1);  // Without the heads.
  }

  LockTable table_{SortBy::kName, ""};
};

TEST_F(LockTableTest, FillsTheScreenAndNoMore) {
  const auto lines = Screen();

  EXPECT_THAT(lines, SizeIs(24));
  for (const std::string& line : lines) EXPECT_LE(ColumnsOf(line), 80U) << line;
  EXPECT_THAT(lines[1], HasSubstr("3 locks"));
  EXPECT_THAT(lines[2], HasSubstr("HOLDER"));
  EXPECT_THAT(lines[3], testing::MatchesRegex("a +ann +held +1m30s +30s +- +- *"));
  EXPECT_THAT(lines.back(), HasSubstr("q quit"));
  EXPECT_THAT(Screen(5, 3), SizeIs(3)) << "a tiny terminal";
  EXPECT_THAT(Screen(1, 1), SizeIs(1));
}

TEST_F(LockTableTest, SortsByEachColumnAndTheOtherWay) {
  EXPECT_EQ(Names(), "abc");
  const auto names_after = [this](const char* keys) {
    EXPECT_EQ(table_.Type(keys), Wish::kNothing);
    return Names();
  };
  EXPECT_EQ(names_after("n"), "cba") << "by name already, so the other way";
  EXPECT_EQ(names_after("a"), "abc") << "the oldest first, and what has no age last";
  EXPECT_EQ(names_after("l"), "cba") << "the first to end first";
  EXPECT_EQ(names_after("w"), "cab") << "the longest line first";
  EXPECT_EQ(names_after("r"), "bca") << "the highest rate first, and what has none last";
  EXPECT_EQ(names_after("h"), "cab");
  EXPECT_EQ(names_after("h"), "bac");
}

TEST_F(LockTableTest, StatusSaysWhyThereAreNoRates) {
  table_.SetRateProblem("you may not watch these locks");
  EXPECT_THAT(Screen(200)[1], HasSubstr("; no rates: you may not watch these locks"));
  table_.SetRateProblem("");
  EXPECT_THAT(Screen(200)[1], Not(HasSubstr("no rates")));
}

TEST_F(LockTableTest, RateIsShownWhereItIsKnown) {
  EXPECT_THAT(table_.Print(),
              AllOf(HasSubstr(" RATE\n"), HasSubstr(" 13/s\n"), HasSubstr(" 0.2/s")));
  table_.SetRows({{.name = "b", .state = "held", .holder = "ci"}}, "");
  EXPECT_THAT(table_.Print(), Not(HasSubstr("RATE")));
}

TEST_F(LockTableTest, FilterIsTypedAndTakenBack) {
  table_.Type("/");
  EXPECT_EQ(table_.Type("anq"), Wish::kNothing) << "q is text here";
  EXPECT_THAT(Screen()[1], HasSubstr("filter: anq_"));
  table_.Type("\x7f");
  table_.Type("\r");
  EXPECT_EQ(Names(), "a") << "its holder is ann";
  EXPECT_THAT(Screen()[1], HasSubstr("1 of 3 locks, filter `an`"));

  table_.Type("\x1b");
  EXPECT_EQ(Names(), "abc");

  table_.Type(
      "/\xc3\xa4\x7f"
      "b\x1b[A\r");
  EXPECT_EQ(Names(), "b") << "one character is taken back, and no arrow is typed";
}

TEST_F(LockTableTest, KeysAskForTheEndAndForANewLook) {
  EXPECT_EQ(table_.Type("q"), Wish::kQuit);
  EXPECT_EQ(table_.Type(" "), Wish::kRefresh);
  EXPECT_EQ(table_.Type("nq"), Wish::kQuit);
  EXPECT_EQ(table_.Type("\x1b[15~x"), Wish::kNothing);
}

TEST_F(LockTableTest, ManyRowsAreScrolled) {
  ShowNumbers(100, 200);
  const auto first = [this] { return Screen()[3].substr(0, 3); };

  EXPECT_EQ(first(), "100");
  EXPECT_THAT(Screen()[1], HasSubstr("100 locks; there are more"));
  EXPECT_EQ(Screen()[20].substr(0, 3), "117") << "18 rows, two lines for the selected one";
  table_.Type("\x1b[6~");
  EXPECT_EQ(first(), "118");
  EXPECT_EQ(Selected(), "118");
  table_.Type("\x1b[5~\x1b[A\x1b[A");
  EXPECT_EQ(first(), "100");
  for (int i = 0; i < 20; ++i) table_.Type("\x1b[6~");
  EXPECT_EQ(first(), "182") << "the last page is full";
  EXPECT_EQ(Selected(), "199");
  table_.Type("\x1b[A");
  EXPECT_EQ(Selected(), "198") << "and the way back begins there";
}

TEST_F(LockTableTest, SelectedRowMovesAndIsNeverOffTheScreen) {
  ShowNumbers(100, 110);
  constexpr size_t kHeight = 10;  // 4 rows.
  EXPECT_EQ(Selected(kHeight), "100");
  for (const char* expected : {"101", "102", "103", "104", "105"}) {
    table_.Type("j");
    EXPECT_EQ(Selected(kHeight), expected);
  }
  EXPECT_EQ(Screen(80, kHeight)[3].substr(0, 3), "102");
  for (int i = 0; i < 3; ++i) table_.Type("k");
  EXPECT_EQ(Selected(kHeight), "102");
  EXPECT_EQ(Screen(80, kHeight)[3].substr(0, 3), "102") << "it scrolls only if it must";

  table_.Type("k\x1b[Ak");
  EXPECT_EQ(Selected(kHeight), "100");
  table_.Type("n");
  EXPECT_EQ(Selected(kHeight), "109") << "another order begins at the top";
  table_.SetRows({}, "");
  EXPECT_EQ(Selected(kHeight), "none");
  EXPECT_THAT(Screen(80, 24), SizeIs(24));
}

TEST_F(LockTableTest, MovedSelectionStaysWithItsLock) {
  ShowNumbers(200, 210);
  ShowNumbers(199, 210);
  EXPECT_EQ(Selected(), "199") << "nobody has moved: the topmost";

  table_.Type("jj");
  EXPECT_EQ(Selected(), "201");
  ShowNumbers(195, 210);
  EXPECT_EQ(Selected(), "201");
  ShowNumbers(202, 210);
  EXPECT_EQ(Selected(), "208") << "it is gone: the row in its place";
}

TEST_F(LockTableTest, LongNamesStayApartAndThatOfTheSelectedLockIsWhole) {
  std::vector<TableRow> rows;
  for (int i = 10; i < 50; ++i) {
    const std::string number = std::to_string(i);
    rows.push_back({.name = "jobs/some/long/path/of/a/tenant/name-" + number,
                    .state = "held",
                    .holder = "batch@worker-in-the-cluster.example/" + number});
  }
  table_.SetRows(rows, "");

  const auto lines = Screen();
  EXPECT_THAT(lines[3], StartsWith("jobs/some~t/name-10 batch@wor~example/10 held"));
  EXPECT_THAT(lines[4], StartsWith("jobs/some~t/name-11 batch@wor~example/11 held"));
  EXPECT_EQ(lines[21], "LOCK    jobs/some/long/path/of/a/tenant/name-10");
  EXPECT_EQ(lines[22], "HOLDER  batch@worker-in-the-cluster.example/10");

  table_.Type("j");
  EXPECT_EQ(Screen()[21], "LOCK    jobs/some/long/path/of/a/tenant/name-11");

  table_.Type("k");
  // The longest that the service takes.
  table_.SetRows({{.name = std::string(512, 'n'), .state = "held", .holder = std::string(513, 'h')},
                  {.name = "o", .state = "held", .holder = "ci"}},
                 "");
  std::string all;
  for (const std::string& line : Screen()) all += line;
  EXPECT_THAT(all, AllOf(HasSubstr(std::string(512, 'n')), HasSubstr(std::string(513, 'h'))));
  EXPECT_THAT(Screen(), SizeIs(24));
  EXPECT_THAT(Screen()[4], StartsWith("o "));
}

TEST_F(LockTableTest, WideTextsAreCutByCharacters) {
  std::string name;
  for (int i = 0; i < 60; ++i) name += "\xc3\xa4";
  table_.SetRows({{.name = name, .state = "held", .holder = name}}, "");

  const std::string line = Screen()[3];

  EXPECT_TRUE(text::IsUtf8(line));
  EXPECT_LE(ColumnsOf(line), 80U);
  EXPECT_THAT(line, HasSubstr("\xc3\xa4~\xc3\xa4"));
  EXPECT_THAT(table_.Print(), HasSubstr(name + " " + name)) << "nothing is cut for programs";
}

TEST_F(LockTableTest, WideAndCombiningCharactersDoNotShiftTheColumns) {
  std::string wide;
  for (int i = 0; i < 30; ++i) wide += "\u540d";
  table_.SetRows({{.name = "a" + wide, .state = "held", .holder = wide},
                  {.name = "be\u0301", .state = "held", .holder = "\u524d"},
                  {.name = "c", .state = "held", .holder = "d"}},
                 "");
  const auto columns_before_state = [](const std::vector<std::string>& lines) {
    std::vector<size_t> columns;
    for (const std::string& line : lines) {
      const size_t state = line.find(" held ");
      if (state != std::string::npos) columns.push_back(ColumnsOf(line.substr(0, state)));
    }
    return columns;
  };

  EXPECT_THAT(columns_before_state(Screen()), ElementsAre(40, 40, 40));
  EXPECT_THAT(columns_before_state(LinesOf(table_.Print())), ElementsAre(122, 122, 122));
}

TEST_F(LockTableTest, ProblemStandsAboveTheOldRowsUntilThereAreNewOnes) {
  table_.SetProblem("cannot reach 127.0.0.1:1\x1b[2J");
  EXPECT_THAT(Screen()[1], HasSubstr("cannot reach 127.0.0.1:1\\u001b[2J"));
  EXPECT_EQ(Names(), "abc");
  table_.SetRows({}, "");
  EXPECT_THAT(Screen()[1], HasSubstr("0 locks"));
}

TEST_F(LockTableTest, NoNameOrHolderDisturbsTheScreen) {
  table_.SetRows({{.name = "job\x1b[31m", .state = "held", .holder = "a\u202eb"}}, "");
  EXPECT_THAT(Screen()[3], StartsWith("job\\u001b[31m "));
  EXPECT_THAT(Screen()[3], HasSubstr(" a\\u202eb "));
  EXPECT_THAT(table_.Print(), HasSubstr("job\\u001b[31m a\\u202eb "));
  table_.Type("/\u202e\r");
  EXPECT_THAT(Screen()[1], HasSubstr("1 lock, filter `\\u202e`"));
}

TEST_F(LockTableTest, RowTellsWhatTheRecordSays) {
  admin::v1::Lock lock;
  lock.set_name("job");
  lock.set_state(admin::v1::LOCK_STATE_HELD);
  lock.set_principal("ci");
  lock.set_owner("root@db1");
  lock.set_waiters(3);
  lock.mutable_acquire_time()->set_seconds(1'000);
  lock.mutable_expire_time()->set_seconds(1'090);
  lock.mutable_remaining_ttl()->set_seconds(20);

  TableRow row = RowOf(lock);
  EXPECT_EQ(row.name, "job");
  EXPECT_EQ(row.holder, "ci root@db1");
  EXPECT_EQ(row.age, 70s);
  EXPECT_EQ(row.left, 20s);
  EXPECT_EQ(row.waiters, 3);

  lock.set_state(admin::v1::LOCK_STATE_ENDED);
  lock.mutable_closed_for()->set_seconds(4);
  row = RowOf(lock);
  EXPECT_EQ(row.state, "closed");
  EXPECT_EQ(row.holder, "-");
  EXPECT_EQ(row.age, std::nullopt);
  EXPECT_EQ(row.left, 4s);

  lock.clear_closed_for();
  EXPECT_EQ(RowOf(lock).state, "free");
  EXPECT_EQ(RowOf(lock).left, std::nullopt);
}

}  // namespace
}  // namespace lockkeeper::cli
