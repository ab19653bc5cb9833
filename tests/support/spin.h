// SPDX-License-Identifier: Apache-2.0
//
// A delay of microseconds, to meet the moments of a race one after the other.
#pragma once

#include <chrono>

namespace lockkeeper::support {

// Keeps the processor: to yield would take as long as a busy machine likes.
inline void SpinFor(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace lockkeeper::support
