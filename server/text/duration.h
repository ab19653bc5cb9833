// SPDX-License-Identifier: Apache-2.0
//
// Durations as people write them: a whole number and its unit, `100ms 30s 5m 1h`. A bare number is
// refused, since nobody can tell which unit was meant.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "text/problem.h"

namespace lockkeeper::text {

// Reads `text` into `duration`. The problem says what is wrong with `text`, and repeats it.
Problem ParseDuration(std::string_view text, std::chrono::milliseconds& duration);

// In the largest unit that is exact: "90s", "2m". ParseDuration reads it back.
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace lockkeeper::text
