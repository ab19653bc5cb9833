// SPDX-License-Identifier: Apache-2.0
//
// The wall clock, which decides nothing in the domain. docs/internals/clocks.md has them all.
#pragma once

#include <compare>
#include <cstdint>

namespace lockkeeper::core {

// Point on the wall clock of this machine, in microseconds since the Unix epoch. It may be set at
// any time: for people, and for the times of files.
struct WallTime {
  int64_t micros = 0;
  auto operator<=>(const WallTime&) const = default;
};

}  // namespace lockkeeper::core
