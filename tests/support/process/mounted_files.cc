// SPDX-License-Identifier: Apache-2.0
#include "support/process/mounted_files.h"

#include <filesystem>
#include <fstream>

namespace lockkeeper::support {

namespace fs = std::filesystem;

MountedFiles::MountedFiles(const Texts& texts) {
  Publish(texts);
  for (const auto& [name, text] : texts) fs::create_symlink("..data/" + name, Path(name));
}

void MountedFiles::Publish(const Texts& texts) {
  const std::string version = "..version" + std::to_string(++version_);
  fs::create_directory(Path(version));
  for (const auto& [name, text] : texts) {
    std::ofstream(Path(version + "/" + name)) << text;
    // Keys are read by their owner only.
    fs::permissions(Path(version + "/" + name), fs::perms::owner_read | fs::perms::owner_write);
  }
  fs::create_directory_symlink(version, Path("..next"));
  fs::rename(Path("..next"), Path("..data"));
  if (version_ > 1) fs::remove_all(Path("..version" + std::to_string(version_ - 1)));
}

}  // namespace lockkeeper::support
