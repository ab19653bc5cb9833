// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a value, as a text for people. It shows a value from outside only escaped, and
// never if it may contain a password.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::text {

// What is wrong. Nothing if all is well.
using Problem = std::optional<std::string>;

// `text` in quotes, escaped and cut to a length that fits into a message.
std::string Quoted(std::string_view text);

}  // namespace lockkeeper::text
