// SPDX-License-Identifier: Apache-2.0
//
// Durations in messages for people.
#pragma once

#include <chrono>
#include <string>

#include "absl/time/time.h"

namespace lockkeeper::text {

// "100ms", "4.2s", "1m0.7s", "24h". From a second on rounded up to tenths of it.
std::string InWords(absl::Duration duration);

template <typename Count, typename Unit>
std::string InWords(std::chrono::duration<Count, Unit> duration) {
  return InWords(absl::FromChrono(duration));
}

}  // namespace lockkeeper::text
