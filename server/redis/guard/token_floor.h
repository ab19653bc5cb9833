// SPDX-License-Identifier: Apache-2.0
//
// The lowest token that may be granted: above every token that this daemon has seen, and not below
// the latest time that it has seen on the store's clock. So tokens keep rising when the store is
// emptied or its clock goes back, as long as one daemon is alive that knows the highest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/types.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only.
class TokenFloor {
 public:
  void SawClock(core::NodeTime now) { Raise(now.micros); }
  // Ignores a token that is years ahead: it is from a damaged record, and would use up the tokens.
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
