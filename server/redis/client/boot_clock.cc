// SPDX-License-Identifier: Apache-2.0
#include "redis/client/boot_clock.h"

#include <ctime>

namespace lockkeeper::redis {

core::Instant BootTime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return core::Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace lockkeeper::redis
