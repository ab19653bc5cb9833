// SPDX-License-Identifier: Apache-2.0
//
// The wall clock of this host, which is only compared with other clocks.
#pragma once

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace lockkeeper::cli {

inline absl::Time HostTime() { return absl::Now(); }

}  // namespace lockkeeper::cli
