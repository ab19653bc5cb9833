// SPDX-License-Identifier: Apache-2.0
//
// The folder with the data of the embedded store, and the lock that keeps a second daemon out of
// it. The server child inherits the lock, so that the lock lasts until the child is gone, even if
// the daemon was killed.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/types.h"
#include "os/descriptor.h"

namespace lockkeeper::embedded {

class DataDirectory {
 public:
  // Creates the folder (mode 0700) if necessary, and takes its lock. Waits up to `patience` for the
  // server of a daemon that has just died. Errors: STORE_UNAVAILABLE that names the folder and the
  // remedy.
  static absl::StatusOr<DataDirectory> Open(
      const std::string& path, core::Millis patience,
      absl::FunctionRef<void(const std::string& holder)> on_wait = [](const std::string&) {});

  // Absolute.
  const std::string& path() const { return path_; }
  std::string Path(const std::string& file) const { return path_ + "/" + file; }

  // Where the server listens: in the folder; or, if that path is too long for a unix socket, in a
  // private folder below XDG_RUNTIME_DIR or /tmp.
  const std::string& socket_path() const { return socket_path_; }

  int lock_descriptor() const { return lock_.get(); }

 private:
  DataDirectory(std::string path, std::string socket_path, os::Descriptor lock);

  std::string path_;
  std::string socket_path_;
  os::Descriptor lock_;
};

}  // namespace lockkeeper::embedded
