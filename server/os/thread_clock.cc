// SPDX-License-Identifier: Apache-2.0
#include "os/thread_clock.h"

#include <ctime>

namespace lockkeeper::os {

std::chrono::nanoseconds ThreadTime() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);  // Cannot fail for the thread that calls.
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace lockkeeper::os
