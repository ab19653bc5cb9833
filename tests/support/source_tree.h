// SPDX-License-Identifier: Apache-2.0
//
// Files of the repository that tests compare with the code: samples and documentation.
#pragma once

#include <string>
#include <vector>

namespace lockkeeper::support {

// Absolute path of the file at `path` below the root of the repository.
std::string SourcePath(const std::string& path);

// The file's text. Throws std::runtime_error if it cannot be read.
std::string ReadSourceFile(const std::string& path);

// The lines of the Markdown file at `path` that begin with '|': its tables, without header and
// ruler.
std::vector<std::string> TableRowsOf(const std::string& path);

// The part of the Markdown file at `path` from the line `heading`, such as "## Reasons", up to the
// next heading. Throws std::runtime_error if there is no such line.
std::string SectionOf(const std::string& path, const std::string& heading);

// The same rows as TableRowsOf, of the Markdown text `text`.
std::vector<std::string> TableRowsIn(const std::string& text);

// What stands in the first fenced block of the Markdown text `text`. Throws std::runtime_error if
// there is none.
std::string FencedBlockIn(const std::string& text);

// The text of each cell of a row of a Markdown table, without the spaces around it.
std::vector<std::string> CellsOf(const std::string& row);

}  // namespace lockkeeper::support
