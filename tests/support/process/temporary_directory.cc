// SPDX-License-Identifier: Apache-2.0
#include "support/process/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace lockkeeper::support {

TemporaryDirectory::TemporaryDirectory()
    : path_((std::filesystem::temp_directory_path() / "lk.XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "mkdtemp " + path_);
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;  // A leftover in the system's folder for such is no reason to fail.
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryDirectory::Replace(const std::string& name, const std::string& text) const {
  const std::string next = Path(name + ".new");
  std::ofstream(next) << text;
  std::filesystem::rename(next, Path(name));
}

void TemporaryDirectory::Clear() {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    std::filesystem::remove_all(entry.path());
  }
}

}  // namespace lockkeeper::support
