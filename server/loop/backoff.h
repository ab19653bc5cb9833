// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before the next attempt, so that not everybody connects at once when a server
// comes back.
#pragma once

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "core/types.h"

namespace lockkeeper::loop {

// Evenly distributed in [0, 1).
using RandomSource = absl::AnyInvocable<double()>;

struct BackoffOptions {
  core::Micros first = std::chrono::milliseconds(50);
  core::Micros max = std::chrono::seconds(1);
};

// A source of random numbers that differs between seeds.
RandomSource Jitter(uint64_t seed);

// Thread-safety: not thread-safe.
class Backoff {
 public:
  Backoff(BackoffOptions options, RandomSource random);

  // Between half of the step and the whole step; steps double from `first` to `max`.
  core::Micros Next();

  // The last attempt succeeded: start over.
  void Reset();

 private:
  const BackoffOptions options_;
  RandomSource random_;
  core::Micros step_;
};

}  // namespace lockkeeper::loop
