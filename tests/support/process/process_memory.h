// SPDX-License-Identifier: Apache-2.0
//
// What a process has in memory, as the kernel tells it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace lockkeeper::support {

// Resident memory. Errors: throws std::runtime_error if the process is gone.
inline double ResidentBytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  double pages = 0;
  double resident = 0;
  if (!(file >> pages >> resident)) throw std::runtime_error("the process has ended");
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace lockkeeper::support
