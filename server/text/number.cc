// SPDX-License-Identifier: Apache-2.0
#include "text/number.h"

#include <charconv>
#include <system_error>

namespace lockkeeper::text {

std::optional<int64_t> ParseNumber(std::string_view text, int64_t max) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number > max) return std::nullopt;
  return number;
}

}  // namespace lockkeeper::text
