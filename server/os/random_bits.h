// SPDX-License-Identifier: Apache-2.0
//
// Numbers that nobody can guess, from the kernel's generator. Lease ids need them, because they are
// credentials.
#pragma once

#include <array>
#include <cstdint>

namespace lockkeeper::os {

// Thread-safety: thread-safe. Ends the process if the kernel has no randomness to give.
uint64_t RandomBits();
std::array<uint64_t, 2> Random128Bits();

}  // namespace lockkeeper::os
