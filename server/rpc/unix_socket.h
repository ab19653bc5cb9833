// SPDX-License-Identifier: Apache-2.0
//
// The file of a unix socket on which we listen. gRPC takes over any socket file, even one on which
// another daemon serves; this makes sure that only stale files are taken over.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace lockkeeper::rpc {

// Holds the right to listen on a path, and removes the socket file when it is destroyed.
//
// Thread-safety: thread-compatible.
class UnixSocketClaim {
 public:
  // Locks `path` + ".lock" for as long as the claim lives, so that of two daemons that start at the
  // same time one is refused. A program that serves on the path keeps it. Errors: UNAVAILABLE; the
  // message says why: in use, not a socket, too long, not writable.
  static absl::StatusOr<std::unique_ptr<UnixSocketClaim>> Make(const std::string& path);

  ~UnixSocketClaim();
  UnixSocketClaim(const UnixSocketClaim&) = delete;
  UnixSocketClaim& operator=(const UnixSocketClaim&) = delete;

 private:
  UnixSocketClaim(std::string path, int lock_fd);

  const std::string path_;
  const int lock_fd_;
};

}  // namespace lockkeeper::rpc
