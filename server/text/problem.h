// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a piece of configuration, in words for people. A value that came from outside
// is shown escaped, and never if it may hold a password.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::text {

// Nothing, or what is wrong.
using Problem = std::optional<std::string>;

// `text` in quotes, escaped and cut to a length that fits in a message.
std::string Quoted(std::string_view text);

}  // namespace lockkeeper::text
