// SPDX-License-Identifier: Apache-2.0
//
// Which of the slots of a Redis Cluster a key belongs to, and the parts that a store has there.
//
// Source: "Key distribution model" and "Hash tags" of the Redis Cluster specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockkeeper::redis {

inline constexpr size_t kSlots = 16'384;

// CRC16 (XMODEM) of the key modulo kSlots; of what is between the first `{` and the `}` that
// follows, if that is not empty.
uint16_t SlotOf(std::string_view key);

// The parts of every store in a Cluster, each in one slot. So many primaries can share a store's
// load at most. It can never change: locks would move to other parts.
inline constexpr size_t kClusterParts = 16;

// The hash tag of a part: the smallest number whose slot is in that part's share of the slots. A
// Cluster gives each primary a range of slots, so each gets its share of the parts.
const std::string& TagOfPart(size_t part);

}  // namespace lockkeeper::redis
