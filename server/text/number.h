// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers as people and protocols write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockkeeper::text {

// The number that the whole text is, from 0 to `max`; nothing if it is none.
std::optional<int64_t> ParseNumber(std::string_view text, int64_t max);

}  // namespace lockkeeper::text
