// SPDX-License-Identifier: Apache-2.0
//
// Well-formed UTF-8 without control characters: what may stand in a record, a log line and a
// terminal.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockkeeper::text {

enum class TextFault { kNone, kNotUtf8, kControlCharacter };

struct Character {
  std::string_view bytes;
  uint32_t code_point = 0;  // If it is UTF-8.
  TextFault fault = TextFault::kNone;
};

// The character that `text` begins with; one byte if it is not UTF-8. Requires: not empty.
// Control characters are U+0000..U+001F, U+007F..U+009F and the line and paragraph separators
// U+2028 and U+2029. Table 3-7 of the Unicode standard says what is well-formed.
Character FirstCharacter(std::string_view text);

// First fault of `text`.
TextFault FindTextFault(std::string_view text);

// Control characters are UTF-8 too.
bool IsUtf8(std::string_view text);

}  // namespace lockkeeper::text
