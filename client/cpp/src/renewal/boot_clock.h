// SPDX-License-Identifier: Apache-2.0
//
// The real clock.
#pragma once

#include "os/boot_clock.h"
#include "renewal/time.h"

namespace lockkeeper::client {

class BootClock final : public Clock {
 public:
  Instant Now() const override { return Instant(os::BootTime()); }
};

}  // namespace lockkeeper::client
