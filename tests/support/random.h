// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are the same for a seed on every machine and library, unlike those of
// <random>. Tests use SeededRandom, which prints its seed with every failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace lockkeeper::support {

// A stream of random numbers (SplitMix64). Thread-safety: not thread-safe.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Bits();

  // A number in [0, limit). Requires: limit > 0.
  uint64_t Below(uint64_t limit) { return Bits() % limit; }

  // A number in [low, high].
  int64_t Between(int64_t low, int64_t high);

  // True once in `n` times.
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  // Any bytes.
  std::string Bytes(size_t length);

  // One of `items`, which must not be empty.
  template <typename Items>
  const auto& Pick(const Items& items) {
    return *(std::begin(items) + static_cast<std::ptrdiff_t>(Below(std::size(items))));
  }

  // Another stream, so that what one part draws does not shift what the others draw.
  Random Fork() { return Random(Bits()); }

 private:
  uint64_t state_;
};

// Value of the environment variable LOCKKEEPER_SEED, or a new seed.
uint64_t ChooseSeed();

// How often a random test repeats itself: the environment variable `name`, or `by_default`.
int64_t RepeatsFrom(const char* name, int64_t by_default);

// The random numbers of one test. A failure in its scope prints the environment variable that
// repeats it.
class SeededRandom : public Random {
 public:
  SeededRandom() : SeededRandom(ChooseSeed()) {}
  explicit SeededRandom(uint64_t seed)
      : Random(seed), trace_(__FILE__, __LINE__, "LOCKKEEPER_SEED=" + std::to_string(seed)) {}

 private:
  testing::ScopedTrace trace_;
};

}  // namespace lockkeeper::support
