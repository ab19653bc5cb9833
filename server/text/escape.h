// SPDX-License-Identifier: Apache-2.0
//
// Escapes texts from outside, so that they fit into one line of a log or of a message.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::text {

// Whether `text` is printable ASCII without quotes and backslashes: nothing of it is escaped.
bool IsPlain(std::string_view text);

// Appends `text` as a JSON string, with its quotes. Malformed UTF-8 becomes U+FFFD.
void AppendJsonString(std::string_view text, std::string& out);

// Appends `text` as a value of key=value: in double quotes if it is empty or has spaces, quotes,
// '=' or anything to escape. Malformed UTF-8 becomes \xNN.
void AppendTextValue(std::string_view text, std::string& out);

// Appends `text` in double quotes, escaped in the same way.
void AppendQuoted(std::string_view text, std::string& out);

// `text` with control characters and malformed UTF-8 as \xNN, and all else as it is: quotes and
// backslashes too.
std::string InOneLine(std::string_view text);

// The longest prefix of `text` that has at most `bytes_max` bytes and does not split a character.
std::string_view CutAtCharacter(std::string_view text, size_t bytes_max);

}  // namespace lockkeeper::text
