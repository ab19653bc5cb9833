// SPDX-License-Identifier: Apache-2.0
#include "support/source_tree.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lockkeeper::support {
namespace {

bool IsRuler(const std::string& row) { return row.find_first_not_of("|-: ") == std::string::npos; }

}  // namespace

std::string SourcePath(const std::string& path) { return LOCKKEEPER_SOURCE_DIR "/" + path; }

std::string ReadSourceFile(const std::string& path) {
  std::ifstream file(SourcePath(path));
  std::ostringstream text;
  if (!(text << file.rdbuf())) throw std::runtime_error("cannot read " + path);
  return text.str();
}

std::string SectionOf(const std::string& path, const std::string& heading) {
  std::istringstream page(ReadSourceFile(path));
  std::string line;
  while (std::getline(page, line) && line != heading) {
  }
  if (!page) throw std::runtime_error(path + " has no line '" + heading + "'");
  std::string section;
  while (std::getline(page, line) && !line.starts_with('#')) section += line + "\n";
  return section;
}

std::vector<std::string> TableRowsOf(const std::string& path) {
  return TableRowsIn(ReadSourceFile(path));
}

std::vector<std::string> TableRowsIn(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|')) continue;
    if (IsRuler(line)) {
      rows.pop_back();  // What stands above the ruler is the header.
    } else {
      rows.push_back(line);
    }
  }
  return rows;
}

std::string FencedBlockIn(const std::string& text) {
  const size_t fence = text.find("```");
  const size_t begin = text.find('\n', fence);
  const size_t end = text.find("\n```", begin);
  if (end == std::string::npos) throw std::runtime_error("no fenced block in: " + text);
  return text.substr(begin + 1, end - begin);
}

std::vector<std::string> CellsOf(const std::string& row) {
  std::vector<std::string> cells;
  size_t begin = row.find('|') + 1;
  for (size_t end = row.find('|', begin); end != std::string::npos; end = row.find('|', begin)) {
    std::string cell = row.substr(begin, end - begin);
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(cell);
    begin = end + 1;
  }
  return cells;
}

}  // namespace lockkeeper::support
