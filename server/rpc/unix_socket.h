// SPDX-License-Identifier: Apache-2.0
//
// The file of a unix socket that we listen on. gRPC takes over any socket file that it finds, also
// one on which another daemon serves; this sees to it that only stale ones are taken.
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
  // Locks `path` + ".lock" for as long as the claim lives, so that of two daemons that start at
  // once one is refused. Whatever program serves on the path keeps it. Errors: UNAVAILABLE with a
  // text for people: in use, not a socket, too long, not writable.
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
