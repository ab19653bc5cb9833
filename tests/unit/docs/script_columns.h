// SPDX-License-Identifier: Apache-2.0
//
// The columns that a Lua file lists at its head, and those that a page has in a table.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "support/source_tree.h"

namespace lockkeeper {

using Strings = std::vector<std::string>;

// What `pattern` finds in `text`: its groups.
inline std::vector<Strings> FindAll(const std::string& text, const std::regex& pattern) {
  std::vector<Strings> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    found.emplace_back(std::next(at->begin()), at->end());
  }
  return found;
}

// Place and name of each column in the list that begins with `1 format`: {"16-31", "token"}.
inline std::vector<Strings> ColumnsAtHeadOf(const std::string& script_path) {
  const std::string script = support::ReadSourceFile(script_path);
  const size_t begin = script.find("--     1 format");
  const std::regex end("\n(--)?\n");
  std::smatch ending;
  const std::string rest = script.substr(begin);
  std::regex_search(rest, ending, end);
  const std::regex column(R"((\d+)(- ?(\d+))? (\w+( \w+)*))");
  std::vector<Strings> rows;
  for (const Strings& found : FindAll(ending.prefix(), column)) {
    const std::string& last = found[2];
    rows.push_back({found[0] + (last.empty() ? "" : "-" + last), found[3]});
  }
  return rows;
}

// The place of each column by its name, as a Lua function writes it: lease_end.
inline std::map<std::string, std::string> ColumnsByName(const std::string& script_path) {
  std::map<std::string, std::string> columns;
  for (const Strings& row : ColumnsAtHeadOf(script_path)) {
    columns[std::regex_replace(row[1], std::regex(" "), "_")] = row[0];
  }
  return columns;
}

// The first two cells of each row of the table in `text`; what follows there is explanation.
inline std::vector<Strings> ColumnsInTable(const std::string& text) {
  std::vector<Strings> rows;
  for (const std::string& row : support::TableRowsIn(text)) {
    rows.push_back(support::CellsOf(row));
    rows.back().resize(2);
    rows.back()[0] = std::regex_replace(rows.back()[0], std::regex(" "), "");
  }
  return rows;
}

}  // namespace lockkeeper
