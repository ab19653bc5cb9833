// SPDX-License-Identifier: Apache-2.0
#include "os/random_bits.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace lockkeeper::os {
namespace {

template <size_t N>
std::array<uint64_t, N> Random() {
  std::array<uint64_t, N> numbers{};
  // getrandom returns up to 256 bytes at once. A signal can interrupt it only before the kernel's
  // generator is ready.
  while (getrandom(numbers.data(), sizeof(numbers), 0) != ssize_t{sizeof(numbers)}) {
    if (errno != EINTR) std::abort();
  }
  return numbers;
}

}  // namespace

uint64_t RandomBits() { return Random<1>()[0]; }

std::array<uint64_t, 2> Random128Bits() { return Random<2>(); }

}  // namespace lockkeeper::os
