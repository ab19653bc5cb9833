// SPDX-License-Identifier: Apache-2.0
//
// Durations as people read and write them: `100ms`, `30s`, `1m30s`, `24h`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "text/problem.h"

namespace lockkeeper::text {

// Parses `text`: numbers, each with its unit, in whole milliseconds. A bare number is a problem,
// since its unit is not clear. The problem quotes `text`.
Problem ParseDuration(std::string_view text, std::chrono::milliseconds& duration);

// Exact, so that ParseDuration() can read it back.
std::string FormatDuration(std::chrono::milliseconds duration);

// Rounded up: to tenths of a second from one second on, else to milliseconds.
std::string InWords(absl::Duration duration);

template <typename Count, typename Unit>
std::string InWords(std::chrono::duration<Count, Unit> duration) {
  return InWords(absl::FromChrono(duration));
}

}  // namespace lockkeeper::text
