// SPDX-License-Identifier: Apache-2.0
//
// The clock that all processes of one machine share, and that nobody sets.
#pragma once

#include <cstdint>
#include <ctime>

namespace lockkeeper::support {

// CLOCK_BOOTTIME in nanoseconds.
inline int64_t BootNanos() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace lockkeeper::support
