// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/peer.h"

#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <sstream>

namespace lockkeeper::bench {

std::string ProgramInPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string program = folder;
    program.append("/").append(name);
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

std::string VersionIn(const std::string& text) {
  static const auto& pattern = *new std::regex(R"([0-9]+(\.[0-9]+)+)");
  std::smatch found;
  return std::regex_search(text, found, pattern) ? found.str() : "";
}

}  // namespace lockkeeper::bench
