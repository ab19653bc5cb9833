// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before a retry. Jittered, so that clients that failed together do not retry
// together.
#pragma once

#include "renewal/time.h"

namespace lockkeeper::client {

// Source of jitter. Thread-safety: thread-safe.
class Jitter {
 public:
  virtual ~Jitter() = default;

  // A number in [0, 1).
  virtual double Next() = 0;
};

// First delay, before jitter: a daemon that restarts or fails over is back within a few of these.
inline constexpr Duration kBackoffFirst = std::chrono::milliseconds(50);
// Longest delay, before jitter.
inline constexpr Duration kBackoffMax = std::chrono::seconds(1);

// Delay after the `failures`th failure in a row (1, 2, ...). It doubles from kBackoffFirst up to
// `max`; `jitter` picks between half and all of it.
Duration BackoffDelay(int failures, Duration max, double jitter);

}  // namespace lockkeeper::client
