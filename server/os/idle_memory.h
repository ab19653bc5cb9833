// SPDX-License-Identifier: Apache-2.0
//
// Memory that the program has freed and the allocator keeps. Blocks in use lie between the free
// ones after a peak, so the allocator does not give it back by itself.
#pragma once

#include <cstddef>

namespace lockkeeper::os {

struct MemoryUse {
  size_t in_use = 0;  // Bytes, through the allocator.
  size_t idle = 0;    // Resident bytes that are neither in use nor of files. Stacks are among them.
};

// Of this process. Waits for the allocator's locks. Thread-safety: thread-safe.
MemoryUse ReadMemoryUse();

// Gives whole free pages back to the system. Who allocates waits meanwhile. Thread-safety:
// thread-safe.
void ReturnIdleMemory();

}  // namespace lockkeeper::os
