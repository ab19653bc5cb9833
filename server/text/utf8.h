// SPDX-License-Identifier: Apache-2.0
//
// Well-formed UTF-8 without control characters: what may stand in a record, a log line and a
// terminal.
#pragma once

#include <string_view>

namespace lockkeeper::text {

enum class TextFault { kNone, kNotUtf8, kControlCharacter };

// First fault of `text`. Control characters are U+0000..U+001F, U+007F..U+009F and the line and
// paragraph separators U+2028 and U+2029. Table 3-7 of the Unicode standard says what is
// well-formed.
TextFault FindTextFault(std::string_view text);

}  // namespace lockkeeper::text
