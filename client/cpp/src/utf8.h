// SPDX-License-Identifier: Apache-2.0
//
// Whether text is UTF-8: what comes from a caller or a command line can be any bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace lockkeeper::client {

// Bytes of the character at the beginning of `text`: 1 to 4; 0 if it is none. Requires: not empty.
size_t Utf8CharacterLength(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace lockkeeper::client
