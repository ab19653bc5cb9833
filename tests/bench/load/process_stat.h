// SPDX-License-Identifier: Apache-2.0
//
// What a process has used so far, as the kernel tells it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/process/process_memory.h"

namespace lockkeeper::bench {

// Processor time in microseconds: that of the process itself, and if wanted also that of children
// that it has waited for.
enum class Counting { kItself, kEndedChildrenToo };

// Errors: throws std::runtime_error if the process is gone.
inline double CpuMicros(pid_t process, Counting counting = Counting::kItself) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // proc(5): the name in brackets may hold spaces; user and system time are the 12th and 13th
  // after, those of the children follow.
  std::istringstream words(text.substr(text.find_last_of(')') + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  constexpr size_t kFirst = 11;
  const size_t end = kFirst + (counting == Counting::kItself ? 2 : 4);
  if (fields.size() < end) throw std::runtime_error("a server has ended");
  double ticks = 0;
  for (size_t i = kFirst; i < end; ++i) ticks += std::stod(fields[i]);
  return ticks * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

using support::ResidentBytes;

}  // namespace lockkeeper::bench
