// SPDX-License-Identifier: Apache-2.0
//
// The machine's own clock, for tests that wait for real sockets.
#pragma once

#include <chrono>

#include "core/clock.h"

namespace lockkeeper::support {

// Thread-safety: thread-safe.
class SystemClock final : public core::Clock {
 public:
  core::Instant Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace lockkeeper::support
