// SPDX-License-Identifier: Apache-2.0
#include "cli/columns.h"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include "text/utf8.h"

namespace lockkeeper::cli {
namespace {

// By the C library's table, which belongs to a locale. The program itself has none, so the thread
// gets one for as long as it asks.
size_t CharacterColumns(const text::Character& character) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (character.code_point < 0x80 || utf8 == nullptr) return 1;
  const locale_t before = uselocale(utf8);
  const int columns = wcwidth(static_cast<wchar_t>(character.code_point));
  uselocale(before);
  return columns < 0 ? 1 : static_cast<size_t>(columns);  // Below 0: newer than the C library.
}

// The longest end of `text` that takes at most `columns`, and begins with no combining character.
std::string_view LastColumns(std::string_view text, size_t columns) {
  size_t left = ColumnsOf(text);
  while (!text.empty()) {
    const text::Character first = text::FirstCharacter(text);
    if (left <= columns && CharacterColumns(first) > 0) break;
    left -= CharacterColumns(first);
    text.remove_prefix(first.bytes.size());
  }
  return text;
}

}  // namespace

size_t ColumnsOf(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const text::Character first = text::FirstCharacter(text);
    columns += CharacterColumns(first);
    text.remove_prefix(first.bytes.size());
  }
  return columns;
}

std::string_view FirstColumns(std::string_view text, size_t columns) {
  size_t end = 0;
  while (end < text.size()) {
    const text::Character next = text::FirstCharacter(text.substr(end));
    if (CharacterColumns(next) > columns) break;
    columns -= CharacterColumns(next);
    end += next.bytes.size();
  }
  return text.substr(0, end);
}

std::string CutEnd(std::string_view text, size_t columns) {
  if (FirstColumns(text, columns).size() == text.size()) return std::string(text);
  return columns == 0 ? "" : std::string(FirstColumns(text, columns - 1)) + "~";
}

std::string CutMiddle(std::string_view text, size_t columns) {
  if (columns == 0 || FirstColumns(text, columns).size() == text.size()) {
    return CutEnd(text, columns);
  }
  const size_t at_the_end = columns / 2;
  std::string cut(FirstColumns(text, columns - 1 - at_the_end));
  cut += "~";
  cut += LastColumns(text, at_the_end);
  return cut;
}

std::vector<std::string> InLines(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t fitting = FirstColumns(text, columns).size();
    const size_t bytes = std::max(fitting, text::FirstCharacter(text).bytes.size());
    lines.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return lines;
}

}  // namespace lockkeeper::cli
