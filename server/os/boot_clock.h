// SPDX-License-Identifier: Apache-2.0
//
// The kernel's monotonic clock that goes on while the machine is suspended, since leases do too.
#pragma once

#include <chrono>

namespace lockkeeper::os {

// CLOCK_BOOTTIME: how long ago the machine booted. Thread-safety: thread-safe.
std::chrono::nanoseconds BootTime();

}  // namespace lockkeeper::os
