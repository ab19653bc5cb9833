// SPDX-License-Identifier: Apache-2.0
#include "core/line_waiter.h"

#include <algorithm>

namespace lockkeeper::core {

int64_t LocalLine::FirstNumber() const {
  const auto first = std::min_element(
      waiters.begin(), waiters.end(),
      [](const auto& a, const auto& b) { return a->place.number < b->place.number; });
  return (*first)->place.number;
}

}  // namespace lockkeeper::core
