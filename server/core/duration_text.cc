// SPDX-License-Identifier: Apache-2.0
#include "core/duration_text.h"

#include <chrono>

#include "absl/time/time.h"

namespace lockkeeper::core {

std::string InWords(Micros duration) {
  using Tenths = std::chrono::duration<int64_t, std::deci>;
  const bool is_long = duration >= std::chrono::seconds(1);
  const Micros rounded =
      is_long ? Micros(std::chrono::ceil<Tenths>(duration)) : std::chrono::ceil<Millis>(duration);
  std::string text = absl::FormatDuration(absl::FromChrono(rounded));
  // "24h0m0s" is 24h to people.
  for (const std::string_view zero : {"m0s", "h0m"}) {
    if (text.ends_with(zero)) text.resize(text.size() - 2);
  }
  return text;
}

}  // namespace lockkeeper::core
