// SPDX-License-Identifier: Apache-2.0
//
// The kernel's monotonic clock that goes on while the machine is suspended, since leases do too.
#pragma once

#include "core/types.h"

namespace lockkeeper::redis {

// CLOCK_BOOTTIME, in the type that the domain uses for points in time: the epoch is the machine's
// boot, so it compares with other results of this function only. Thread-safety: thread-safe.
core::Instant BootTime();

}  // namespace lockkeeper::redis
