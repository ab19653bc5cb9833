// SPDX-License-Identifier: Apache-2.0
//
// The file with the output of the embedded server.
#pragma once

#include <cstddef>
#include <string>

namespace lockkeeper::embedded {

class ServerLog {
 public:
  explicit ServerLog(std::string path);

  const std::string& path() const { return path_; }

  // Call before each start. Renames a file of more than 1 MiB to "<path>.1", and remembers where
  // the next run's output begins.
  void BeginRun();

  // The last lines that this run wrote, at most about 2 KiB.
  std::string Tail() const;

 private:
  const std::string path_;
  size_t begin_ = 0;
};

}  // namespace lockkeeper::embedded
