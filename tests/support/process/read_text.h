// SPDX-License-Identifier: Apache-2.0
//
// A file as a text.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace lockkeeper::support {

// Empty if it cannot be read.
inline std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace lockkeeper::support
