// SPDX-License-Identifier: Apache-2.0
//
// A fresh directory that goes away with the test, whatever is in it. Its path is short enough for
// a unix socket inside.
#pragma once

#include <string>

namespace lockkeeper::support {

class TemporaryDirectory {
 public:
  // Makes the directory, readable by its owner only. Throws std::system_error.
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

  // Path of `name` in it.
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

  // Gives the file `name` this text in one step, as an editor does. Throws
  // std::filesystem::filesystem_error.
  void Replace(const std::string& name, const std::string& text) const;

  // Removes what is in it and keeps the directory itself.
  void Clear();

 private:
  std::string path_;
};

}  // namespace lockkeeper::support
