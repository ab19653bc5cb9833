// SPDX-License-Identifier: Apache-2.0
//
// The time that a test sets for a process, in a file that both map into memory. ServerClock writes
// it, the shim reads it.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockkeeper::support {

// Names the file to the process.
inline constexpr char kClockFileVariable[] = "LOCKKEEPER_CLOCK_FILE";

struct ClockControl {
  std::atomic<int64_t> stands_at_us;  // Time of a clock that stands still; 0: it runs.
  std::atomic<int64_t> offset_us;     // How far a clock that runs is ahead of the machine's.
  std::atomic<int64_t> slept_us;      // How long the machine seems to have slept.
};

static_assert(std::atomic<int64_t>::is_always_lock_free);

}  // namespace lockkeeper::support
