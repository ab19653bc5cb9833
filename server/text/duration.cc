// SPDX-License-Identifier: Apache-2.0
#include "text/duration.h"

#include "absl/strings/ascii.h"

namespace lockkeeper::text {
namespace {

std::string Format(absl::Duration duration) {
  if (duration == absl::ZeroDuration()) return "0s";
  std::string text = absl::FormatDuration(duration);
  // Shortens "24h0m0s" to "24h".
  for (const std::string_view zero : {"m0s", "h0m"}) {
    if (text.ends_with(zero)) text.resize(text.size() - 2);
  }
  return text;
}

}  // namespace

Problem ParseDuration(std::string_view text, std::chrono::milliseconds& duration) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    return Quoted(text) + " is a bare number; give it a unit, such as " + std::string(text) +
           "s (units: ms, s, m, h)";
  }
  // Rejects signs and "inf", which Abseil would accept.
  absl::Duration read;
  const bool is_duration = !text.empty() &&
                           absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
                           absl::ParseDuration(absl::string_view(text.data(), text.size()), &read);
  const auto millis = absl::ToChronoMilliseconds(read);
  if (!is_duration || absl::FromChrono(millis) != read) {
    return "must be a duration in whole milliseconds, such as 500ms, 30s or 1m30s; is " +
           Quoted(text);
  }
  duration = millis;
  return std::nullopt;
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  return Format(absl::FromChrono(duration));
}

std::string InWords(absl::Duration duration) {
  const absl::Duration unit =
      duration >= absl::Seconds(1) ? absl::Milliseconds(100) : absl::Milliseconds(1);
  return Format(absl::Ceil(duration, unit));
}

}  // namespace lockkeeper::text
