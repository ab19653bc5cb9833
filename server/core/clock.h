// SPDX-License-Identifier: Apache-2.0
//
// The only source of time of the domain. In the daemon it is CLOCK_BOOTTIME, behind the event loop;
// in tests and in the simulator it moves only when they move it.
#pragma once

#include "core/types.h"

namespace lockkeeper::core {

// Thread-safety: as its implementation says; the domain calls it on the loop's thread only.
class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic, and goes on while the machine is suspended. Has no relation to the wall clock or to
  // a node's clock.
  virtual Instant Now() const = 0;
};

}  // namespace lockkeeper::core
