// SPDX-License-Identifier: Apache-2.0
#include "core/line_waiter.h"

namespace lockkeeper::core {

int64_t LocalLine::CommonLine() const {
  int64_t common = 0;
  for (const OwnedWaiter& waiter : waiters) {
    const int64_t line = waiter->place.line;
    if (waiter->has_lost_place) return 0;
    if (line == 0) continue;
    if (common != 0 && line != common) return 0;
    common = line;
  }
  return common;
}

}  // namespace lockkeeper::core
