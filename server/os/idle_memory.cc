// SPDX-License-Identifier: Apache-2.0
#include "os/idle_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

namespace lockkeeper::os {

MemoryUse ReadMemoryUse() {
  const struct mallinfo2 allocated = mallinfo2();
  MemoryUse use{.in_use = allocated.uordblks + allocated.hblkhd};
  std::ifstream file("/proc/self/statm");
  size_t total_pages = 0;
  size_t resident_pages = 0;
  size_t file_pages = 0;
  if (!(file >> total_pages >> resident_pages >> file_pages)) return use;
  const size_t resident =
      (resident_pages - file_pages) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (resident > use.in_use) use.idle = resident - use.in_use;
  return use;
}

void ReturnIdleMemory() { malloc_trim(0); }

}  // namespace lockkeeper::os
