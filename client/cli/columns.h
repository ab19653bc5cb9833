// SPDX-License-Identifier: Apache-2.0
//
// How many columns of a terminal a text takes, and texts that are cut to columns. Every table
// measures with these functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::cli {

// Two for a wide character, as of Japanese, and none for a combining one. Requires of all functions
// here: `text` is Printable().
size_t ColumnsOf(std::string_view text);

// The longest beginning of `text` that takes at most `columns`.
std::string_view FirstColumns(std::string_view text, size_t columns);

// `text` if it takes at most `columns`; otherwise its beginning and `~`.
std::string CutEnd(std::string_view text, size_t columns);

// `text` if it takes at most `columns`; otherwise its beginning, `~` and its end, so that names
// that differ at their ends stay apart.
std::string CutMiddle(std::string_view text, size_t columns);

// `text` in lines of at most `columns`, each with at least one character.
std::vector<std::string> InLines(std::string_view text, size_t columns);

}  // namespace lockkeeper::cli
