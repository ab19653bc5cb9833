// SPDX-License-Identifier: Apache-2.0
//
// Finds malformed UTF-8 and control characters, which must not get into a record, a log line or a
// terminal.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockkeeper::text {

enum class TextFault { kNone, kNotUtf8, kControlCharacter };

struct Character {
  std::string_view bytes;
  uint32_t code_point = 0;  // If it is well-formed.
  TextFault fault = TextFault::kNone;
};

// The first character of `text`; one byte if it is malformed. Requires: not empty. Control
// characters are U+0000..U+001F, U+007F..U+009F and the line and paragraph separators U+2028 and
// U+2029. Table 3-7 of the Unicode standard says what is well-formed.
Character FirstCharacter(std::string_view text);

// The first fault of `text`.
TextFault FindTextFault(std::string_view text);

// Whether `text` is well-formed; control characters are allowed.
bool IsUtf8(std::string_view text);

}  // namespace lockkeeper::text
