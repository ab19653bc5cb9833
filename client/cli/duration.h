// SPDX-License-Identifier: Apache-2.0
//
// Durations as people write and read them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lockkeeper::cli {

// Reads a whole number with one of the units ms, s, m, h: `500ms`, `30s`, `5m`, `1h`; at most 1,000
// h. The error says what is missing; a number without a unit is one.
absl::StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view text);

// The shortest way to write it in these units, with two of them at most: `1m30s`, `29.6s`, `850ms`.
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace lockkeeper::cli
