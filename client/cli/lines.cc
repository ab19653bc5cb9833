// SPDX-License-Identifier: Apache-2.0
#include "cli/lines.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "text/duration.h"

namespace lockkeeper::cli {

std::string Line(std::string_view title, const std::string& value) {
  constexpr size_t kColumn = 17;
  if (value.empty()) return "";
  std::string line = "\n  " + std::string(title);
  line.resize(std::max(line.size() + 1, kColumn + 1), ' ');
  return line + value;
}

std::chrono::milliseconds Millis(const google::protobuf::Duration& duration) {
  return std::chrono::milliseconds(
      google::protobuf::util::TimeUtil::DurationToMilliseconds(duration));
}

std::string EnumWord(std::string name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return "";
  name.erase(0, prefix.size());
  return name == "UNSPECIFIED" ? "" : absl::AsciiStrToLower(name);
}

std::string InDays(std::chrono::milliseconds duration) {
  using std::chrono::hours;
  const auto whole_hours = std::chrono::duration_cast<hours>(duration);
  if (whole_hours < hours(24)) {
    return text::FormatDuration(std::chrono::duration_cast<std::chrono::seconds>(duration));
  }
  const auto left = whole_hours.count() % 24;
  return std::to_string(whole_hours.count() / 24) + "d" +
         (left == 0 ? "" : std::to_string(left) + "h");
}

}  // namespace lockkeeper::cli
