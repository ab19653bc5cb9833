// SPDX-License-Identifier: Apache-2.0
//
// Writes a manual page in roff, with the macros of man(7).
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace lockkeeper::man {

// Texts may have any characters; those that roff gives a meaning are escaped. A line that begins
// with a space begins a new line of the page; other line breaks are spaces.
// Thread-safety: thread-compatible.
class Roff {
 public:
  // `name`: "lockkeeper". `section`: 1 for users, 8 for administrators. `source`: the version.
  Roff(std::string_view name, int section, std::string_view source);

  void Section(std::string_view title);
  void Subsection(std::string_view title);
  void Paragraph(std::string_view text);
  // A term, and what it means below it.
  void Item(std::string_view term, std::string_view text);

  std::string Take() && { return std::move(page_); }

 private:
  void Line(std::string_view macro, std::string_view argument);
  void Text(std::string_view text);

  std::string page_;
};

}  // namespace lockkeeper::man
