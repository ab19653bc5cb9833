// SPDX-License-Identifier: Apache-2.0
//
// Durations as people write them: a whole number and its unit, `100ms 30s 5m 1h`. A bare number is
// refused, since nobody can tell which unit was meant.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/types.h"

namespace lockkeeper::config {

// Errors: INVALID_FIELD whose message says what is wrong with `text`, and repeats it.
absl::StatusOr<core::Millis> ParseDuration(std::string_view text);

// In the largest unit that is exact: "90s", "2m". ParseDuration reads it back.
std::string FormatDuration(core::Millis duration);

}  // namespace lockkeeper::config
