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

// Reads `text`: numbers, each with its unit, in whole milliseconds. A bare number is refused, since
// nobody can tell which unit was meant. The problem repeats `text`.
Problem ParseDuration(std::string_view text, std::chrono::milliseconds& duration);

// Exactly, so that ParseDuration() reads it back.
std::string FormatDuration(std::chrono::milliseconds duration);

// Rounded up: from a second on to tenths of it, below to milliseconds.
std::string InWords(absl::Duration duration);

template <typename Count, typename Unit>
std::string InWords(std::chrono::duration<Count, Unit> duration) {
  return InWords(absl::FromChrono(duration));
}

}  // namespace lockkeeper::text
