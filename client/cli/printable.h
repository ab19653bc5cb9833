// SPDX-License-Identifier: Apache-2.0
//
// Makes text from outside fit for a terminal: nothing in it moves the cursor, changes the order of
// the characters, or cannot be seen.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::cli {

// `text` in one line. Control characters, and those that a terminal does not show (U+202E, which
// turns the order of the text around, U+200B, ...), become \u202e or \U000e0001; malformed UTF-8
// becomes \xNN.
std::string Printable(std::string_view text);

// The same, but line breaks stay.
std::string PrintableLines(std::string_view text);

}  // namespace lockkeeper::cli
