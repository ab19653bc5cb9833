// SPDX-License-Identifier: Apache-2.0
//
// The number below which no token may be granted: higher than every token that this daemon has
// seen granted, and no lower than the furthest that it has seen its store's clock. So tokens keep
// rising when the store is emptied, or its clock goes back, as long as one daemon lives that knows
// how far they were.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/types.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only.
class TokenFloor {
 public:
  void SawClock(core::NodeTime now) { Raise(now.micros); }
  // A token that is years ahead is that of a damaged record, and would leave no tokens to others.
  void SawToken(core::FencingToken token) {
    if (token.value - value() < kBelievable) Raise(token.value + 1);
  }

  int64_t value() const { return value_; }

 private:
  // Tokens follow a clock in microseconds: ten years.
  static constexpr int64_t kBelievable = 315'360'000'000'000;

  void Raise(int64_t to) { value_ = std::max(value_, to); }

  int64_t value_ = 0;
};

}  // namespace lockkeeper::redis
