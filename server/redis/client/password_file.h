// SPDX-License-Identifier: Apache-2.0
//
// The password in a file, which may be another one while the daemon runs: a connection that begins
// uses the newest one, and those that are open stay.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"
#include "os/file_watch.h"
#include "text/problem.h"
#include "text/secret.h"

namespace lockkeeper::redis {

// Thread-safety: thread-safe.
class PasswordFile {
 public:
  // `file`: its name is that of the setting. Errors: INVALID_FIELD of the setting that names the
  // file and what is wrong with it.
  static absl::StatusOr<std::shared_ptr<PasswordFile>> Load(os::NamedFile file);

  text::Secret Current() const;

  // For the watch of the file, as those of TlsContext.
  os::FileSet files() const;
  os::Contents contents() const;
  text::Problem Take(const os::Contents& contents);

 private:
  explicit PasswordFile(os::NamedFile file) : file_(std::move(file)) {}

  const os::NamedFile file_;
  mutable std::mutex mutex_;  // Guards all below.
  text::Secret password_;
  os::Contents contents_;
};

}  // namespace lockkeeper::redis
