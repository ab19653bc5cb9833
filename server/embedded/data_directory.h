// SPDX-License-Identifier: Apache-2.0
//
// The folder that holds the data of the embedded store, and the lock that keeps a second daemon
// out of it. The server child inherits the lock, so that it lasts until that is really gone, also
// when the daemon was killed.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/types.h"
#include "os/descriptor.h"

namespace lockkeeper::embedded {

class DataDirectory {
 public:
  // Makes the folder (mode 0700) if it is not there, and takes its lock; waits up to `patience` for
  // the server of a daemon that has just died.
  // Errors: STORE_UNAVAILABLE that names the folder and the remedy.
  static absl::StatusOr<DataDirectory> Open(
      const std::string& path, core::Millis patience,
      absl::FunctionRef<void(const std::string& holder)> on_wait = [](const std::string&) {});

  // Absolute.
  const std::string& path() const { return path_; }
  std::string Path(const std::string& file) const { return path_ + "/" + file; }

  // Where the server listens: in the folder, or, where that would be too long for a unix socket, in
  // a folder of our own below XDG_RUNTIME_DIR or /tmp.
  const std::string& socket_path() const { return socket_path_; }

  int lock_descriptor() const { return lock_.get(); }

 private:
  DataDirectory(std::string path, std::string socket_path, os::Descriptor lock);

  std::string path_;
  std::string socket_path_;
  os::Descriptor lock_;
};

}  // namespace lockkeeper::embedded
