// SPDX-License-Identifier: Apache-2.0
#include "text/duration_text.h"

#include <string_view>

namespace lockkeeper::text {

std::string InWords(absl::Duration duration) {
  const absl::Duration unit =
      duration >= absl::Seconds(1) ? absl::Milliseconds(100) : absl::Milliseconds(1);
  std::string text = absl::FormatDuration(absl::Ceil(duration, unit));
  // "24h0m0s" is 24h to people.
  for (const std::string_view zero : {"m0s", "h0m"}) {
    if (text.ends_with(zero)) text.resize(text.size() - 2);
  }
  return text;
}

}  // namespace lockkeeper::text
