// SPDX-License-Identifier: Apache-2.0
//
// Files in a folder as Kubernetes mounts a secret or a config map: each is a symbolic link through
// one to the folder of the current version, and a new version only changes that one.
#pragma once

#include <map>
#include <string>

#include "support/process/temporary_directory.h"

namespace lockkeeper::support {

// Errors: throws std::filesystem::filesystem_error. Thread-safety: not thread-safe.
class MountedFiles {
 public:
  // The text of each file, by its name.
  using Texts = std::map<std::string, std::string>;

  explicit MountedFiles(const Texts& texts);

  // It does not change.
  std::string Path(const std::string& name) const { return directory_.Path(name); }

  // Replaces all files at once. Requires: the same names.
  void Publish(const Texts& texts);

 private:
  TemporaryDirectory directory_;
  int version_ = 0;
};

}  // namespace lockkeeper::support
