// SPDX-License-Identifier: Apache-2.0
//
// A hash that is the same in every process and on every machine, unlike std::hash and absl::Hash.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockkeeper::text {

// 64-bit FNV-1a.
uint64_t StableHash(std::string_view text);

}  // namespace lockkeeper::text
