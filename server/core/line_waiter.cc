// SPDX-License-Identifier: Apache-2.0
#include "core/line_waiter.h"

namespace lockkeeper::core {

int64_t LocalLine::FirstNumber() const {
  int64_t first = 0;
  for (const OwnedWaiter& waiter : waiters) {
    const int64_t number = waiter->place.number;
    if (number > 0 && (first == 0 || number < first)) first = number;
  }
  return first;
}

}  // namespace lockkeeper::core
