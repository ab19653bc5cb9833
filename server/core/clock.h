// SPDX-License-Identifier: Apache-2.0
//
// The only source of time of the domain. The daemon's is CLOCK_BOOTTIME behind an event loop; the
// tests' and the simulator's stand still until they are moved.
#pragma once

#include "core/types.h"

namespace lockkeeper::core {

// Thread-safety: as its implementation says; the domain calls it on the loop's thread only.
class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic, also over suspends. Has no relation to the wall clock or to a node's clock.
  virtual Instant Now() const = 0;
};

}  // namespace lockkeeper::core
