// SPDX-License-Identifier: Apache-2.0
//
// The kernel's monotonic clock that goes on while the machine is suspended, as leases do.
#pragma once

#include <chrono>

namespace lockkeeper::os {

// CLOCK_BOOTTIME, the time since the machine booted. Thread-safety: thread-safe.
std::chrono::nanoseconds BootTime();

}  // namespace lockkeeper::os
