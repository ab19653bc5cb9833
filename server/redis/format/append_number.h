// SPDX-License-Identifier: Apache-2.0
//
// Appends numbers to a string without a temporary string.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

namespace lockkeeper::redis {

// Appends the decimal digits of `number`, behind a minus sign if it is negative.
inline void AppendNumber(std::string& to, int64_t number) {
  std::array<char, std::numeric_limits<int64_t>::digits10 + 2> digits;
  to.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
}

}  // namespace lockkeeper::redis
