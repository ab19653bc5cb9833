// SPDX-License-Identifier: Apache-2.0
#include "cli/run/process_title.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace lockkeeper::cli {
namespace {

// Fields of /proc/self/stat after the name in parentheses, which may contain anything. See proc(5).
constexpr int kFieldBehindName = 3;
constexpr int kArgumentsBegin = 48;

}  // namespace

void SetProcessTitle(std::string_view title) {
  std::ifstream file("/proc/self/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string skipped;
  for (int i = kFieldBehindName; i < kArgumentsBegin; ++i) fields >> skipped;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  if (!(fields >> begin >> end) || begin == 0 || end <= begin) return;
  // The kernel shows this memory, up to the last byte, which must stay zero.
  char* const arguments = reinterpret_cast<char*>(begin);  // NOLINT(performance-no-int-to-ptr)
  std::memset(arguments, 0, end - begin);
  std::memcpy(arguments, title.data(), std::min(title.size(), end - begin - 1));
}

}  // namespace lockkeeper::cli
