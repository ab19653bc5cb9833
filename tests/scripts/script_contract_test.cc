// SPDX-License-Identifier: Apache-2.0
//
// The contract in each script's header, the table in scripts/README.md and the script itself say
// the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "scripts/script_calls.h"
#include "support/source_tree.h"

namespace lockkeeper::support {
namespace {

using Strings = std::vector<std::string>;

constexpr char kFolder[] = "server/redis/scripts/";

// Outcomes from here on are common to all scripts, and have their names in record.lua.
constexpr int kCommonOutcomes = 80;

struct Row {
  std::string name;
  Strings arguments;
  size_t reply_width = 0;
  bool runs_without_memory = false;
};

Strings Split(const std::string& text) {
  Strings parts;
  const std::regex comma(", ");
  std::copy(std::sregex_token_iterator(text.begin(), text.end(), comma, -1),
            std::sregex_token_iterator(), std::back_inserter(parts));
  return parts;
}

std::set<int> Numbers(const std::string& text, const std::string& pattern) {
  std::set<int> numbers;
  const std::regex number(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at) {
    numbers.insert(std::stoi((*at)[1]));
  }
  return numbers;
}

std::vector<Row> ReadTable() {
  std::vector<Row> rows;
  for (const std::string& line : TableRowsOf(std::string(kFolder) + "README.md")) {
    const Strings cells = CellsOf(line);
    if (cells.size() != 4) continue;
    Row row;
    row.name = cells[0].substr(1, cells[0].find('.') - 1);
    if (cells[1] != "none") row.arguments = Split(cells[1]);
    row.reply_width = std::stoul(cells[2]);
    row.runs_without_memory = cells[3] == "runs";
    rows.push_back(row);
  }
  return rows;
}

// The part of a script's header behind `label`, up to the next label, without
// the comment signs.
std::string HeaderPart(const std::string& script, const std::string& label) {
  const std::regex part("\n-- " + label + " +((?:.|\n)*?)(?=\n-- [A-Z]|\n[^-])");
  std::smatch match;
  if (!std::regex_search(script, match, part)) return "";
  return std::regex_replace(match[1].str(), std::regex("\n-- +"), "\n");
}

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class ScriptContractTest : public testing::TestWithParam<Row> {
 protected:
  std::string script_ = ReadSourceFile(kFolder + GetParam().name + ".lua");
};

TEST(ScriptTableTest, HasARowForEachScript) {
  Strings table;
  for (const Row& row : ReadTable()) table.push_back(row.name);
  std::set<std::string> scripts;
  for (const redis::ScriptSource& script : redis::AllScripts()) {
    const bool works_on_locks = script.name != "marker" && script.name != "rights";
    if (works_on_locks) scripts.emplace(script.name);
  }
  EXPECT_THAT(table, testing::UnorderedElementsAreArray(scripts));
}

TEST_P(ScriptContractTest, HeaderHasAllItsPartsInOrder) {
  size_t at = 0;
  for (const std::string part :
       {"KEYS ", "ARGV[1]", "ARGV[2]", "ARGV[3]", "ARGV[4]", "ARGV[5]", "ARGV[6]", "ARGV[7]",
        "ARGV[8..9]", "Returns ", "Errors ", "Why "}) {
    const size_t found = script_.find("\n-- " + part, at);
    ASSERT_NE(found, std::string::npos) << part;
    at = found;
  }
}

// The build makes an enumeration of them; one without a name would be missing there.
TEST_P(ScriptContractTest, OutcomesOfTheHeaderHaveNames) {
  const std::string returns = HeaderPart(script_, "Returns");
  std::set<int> outcomes = Numbers(returns, "(?:\n|[;,] )([0-9]+) [a-zA-Z]");
  std::erase_if(outcomes, [](int outcome) { return outcome >= kCommonOutcomes || outcome == 0; });

  EXPECT_EQ(outcomes, Numbers(returns, "([0-9]+) [A-Z]{2}")) << returns;
}

TEST_P(ScriptContractTest, ShapeOfTheTableIsThatOfTheScript) {
  const std::regex call("\nreturn each\\(\\{([0-9, {}]*)\\}, ([0-9]+), ");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(script_, match, call));
  // An argument that may be of either length has both in braces.
  const std::string lengths = std::regex_replace(match[1].str(), std::regex("\\{[^}]*\\}"), "0");
  const size_t arguments = lengths.empty() ? 0 : Split(lengths).size();

  EXPECT_EQ(arguments, GetParam().arguments.size());
  EXPECT_EQ(std::stoul(match[2]), GetParam().reply_width);
}

TEST_P(ScriptContractTest, ArgumentsOfTheTableAreThoseOfTheHeader) {
  const std::string documented = HeaderPart(script_, "ARGV\\[10\\.\\.\\]");
  for (const std::string& argument : GetParam().arguments) {
    const std::string word = argument.substr(0, argument.find(' '));
    EXPECT_THAT(documented, testing::HasSubstr(word));
  }
}

TEST_P(ScriptContractTest, MemoryColumnOfTheTableIsTheScriptsFlag) {
  EXPECT_EQ(script_.starts_with("#!lua flags=allow-oom\n"), GetParam().runs_without_memory);
  EXPECT_TRUE(script_.starts_with("#!lua flags=allow-oom\n") || script_.starts_with("#!lua\n"));
}

TEST_P(ScriptContractTest, ShapesOfTheTestsAreThoseOfTheTable) {
  for (const ScriptShape& shape : ScriptShapes()) {
    if (shape.script->name != GetParam().name) continue;
    EXPECT_EQ(shape.arguments.size(), GetParam().arguments.size());
    EXPECT_EQ(shape.reply_width, GetParam().reply_width);
    EXPECT_EQ(shape.runs_without_memory, GetParam().runs_without_memory);
    return;
  }
  ADD_FAILURE() << "no test calls it";
}

INSTANTIATE_TEST_SUITE_P(Scripts, ScriptContractTest, testing::ValuesIn(ReadTable()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace lockkeeper::support
