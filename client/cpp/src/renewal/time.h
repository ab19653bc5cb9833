// SPDX-License-Identifier: Apache-2.0
//
// Time as the client counts it: CLOCK_BOOTTIME, which never steps and goes on while the machine is
// suspended, as the store's clock does. Points of this clock mean nothing outside this machine.
#pragma once

#include <chrono>

namespace lockkeeper::client {

// Tag of the clock, for std::chrono::time_point.
struct BootTime {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootTime>;
  static constexpr bool is_steady = true;
};

using Duration = BootTime::duration;
using Instant = BootTime::time_point;

// Where the client's time comes from. Thread-safety: thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
};

}  // namespace lockkeeper::client
