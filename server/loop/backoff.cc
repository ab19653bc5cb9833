// SPDX-License-Identifier: Apache-2.0
#include "loop/backoff.h"

#include <algorithm>
#include <random>
#include <utility>

namespace lockkeeper::loop {

RandomSource Jitter(uint64_t seed) {
  return [engine = std::mt19937_64(seed)]() mutable {
    return std::uniform_real_distribution<double>()(engine);
  };
}

Backoff::Backoff(BackoffOptions options, RandomSource random)
    : options_(options), random_(std::move(random)), step_(options.first) {}

core::Micros Backoff::Next() {
  const double share = 0.5 + random_() / 2;
  const auto delay = core::Micros(static_cast<int64_t>(static_cast<double>(step_.count()) * share));
  step_ = std::min(step_ * 2, options_.max);
  return delay;
}

void Backoff::Reset() { step_ = options_.first; }

}  // namespace lockkeeper::loop
