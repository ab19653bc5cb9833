// SPDX-License-Identifier: Apache-2.0
#include "os/boot_clock.h"

#include <ctime>

namespace lockkeeper::os {

std::chrono::nanoseconds BootTime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);  // Cannot fail: the clock exists since Linux 2.6.39.
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace lockkeeper::os
