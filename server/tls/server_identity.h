// SPDX-License-Identifier: Apache-2.0
//
// Who the daemon is to its clients, and the CAs whose certificates it accepts from them. New files
// replace the old ones while the daemon runs: a handshake that begins afterwards uses them, and
// connections that exist go on.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "os/file_watch.h"
#include "text/problem.h"
#include "tls/credentials.h"

namespace lockkeeper::tls {

// Thread-safety: thread-safe.
class ServerIdentity {
 public:
  // What the files hold must be usable by a server now: besides what CheckCredentials finds, a
  // certificate that has expired, is not valid yet, or may not be used by servers is an error.
  static absl::StatusOr<std::shared_ptr<ServerIdentity>> Load(CredentialFiles files);

  // One consistent version. A new version is a new object.
  std::shared_ptr<const Credentials> current() const;

  // When the first certificate of the chain expires, Unix time in seconds.
  int64_t valid_until() const { return ValidUntil(*current()); }

  // The certificate itself in one line, for people.
  std::string Describe() const;

  // For the watch of the files: what they are, what Load has read, and how changed contents are
  // taken into use.
  os::FileSet files() const { return FilesOf(files_); }
  os::Contents contents() const;
  text::Problem Take(const os::Contents& contents);

 private:
  explicit ServerIdentity(CredentialFiles files) : files_(std::move(files)) {}

  absl::Status Use(const os::Contents& contents);

  const CredentialFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Credentials> current_;  // Guarded by mutex_. Null until Load.
};

}  // namespace lockkeeper::tls
