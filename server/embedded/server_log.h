// SPDX-License-Identifier: Apache-2.0
//
// The file that the embedded server writes its output to.
#pragma once

#include <cstddef>
#include <string>

namespace lockkeeper::embedded {

class ServerLog {
 public:
  explicit ServerLog(std::string path);

  const std::string& path() const { return path_; }

  // Before each start: puts a file that has grown beyond 1 MiB aside, as "<path>.1", and notes
  // where the next run's output begins.
  void BeginRun();

  // The last lines that this run wrote, at most about 2 KiB.
  std::string Tail() const;

 private:
  const std::string path_;
  size_t begin_ = 0;
};

}  // namespace lockkeeper::embedded
