// SPDX-License-Identifier: Apache-2.0
#include "cli/duration.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace lockkeeper::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMax = std::chrono::hours(1000);

constexpr auto kUnits = std::to_array<std::pair<std::string_view, milliseconds>>({
    {"ms", milliseconds(1)},
    {"s", std::chrono::seconds(1)},
    {"m", std::chrono::minutes(1)},
    {"h", std::chrono::hours(1)},
});

absl::Status NotADuration(std::string_view text, const std::string& problem) {
  return absl::InvalidArgumentError("`" + std::string(text) + "` " + problem);
}

}  // namespace

absl::StatusOr<milliseconds> ParseDuration(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error == std::errc::invalid_argument || number < 0) {
    return NotADuration(text, "is not a duration: write 500ms, 30s, 5m or 1h");
  }
  if (unit.empty()) {
    const std::string digits(text);
    return NotADuration(text, "has no unit: write " + digits + "ms, " + digits + "s, " + digits +
                                  "m or " + digits + "h");
  }
  for (const auto& [name, length] : kUnits) {
    if (unit != name) continue;
    if (error != std::errc() || number > kMax / length) return NotADuration(text, "is over 1000h");
    return length * number;
  }
  return NotADuration(text, "is not a duration: write a whole number and ms, s, m or h");
}

std::string FormatDuration(milliseconds duration) {
  const int64_t ms = duration.count();
  if (ms < 1000) return std::to_string(ms) + "ms";
  const int64_t seconds = ms / 1000;
  if (seconds < 60) {
    const int64_t tenths = ms % 1000 / 100;
    return std::to_string(seconds) + (tenths == 0 ? "" : "." + std::to_string(tenths)) + "s";
  }
  const bool is_hours = seconds >= 3600;
  const int64_t whole = seconds / (is_hours ? 3600 : 60);
  const int64_t rest = is_hours ? seconds % 3600 / 60 : seconds % 60;
  return std::to_string(whole) + (is_hours ? "h" : "m") +
         (rest == 0 ? "" : std::to_string(rest) + (is_hours ? "m" : "s"));
}

}  // namespace lockkeeper::cli
