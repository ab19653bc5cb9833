// SPDX-License-Identifier: Apache-2.0
//
// The bearer token of a file, which proves to the daemon who we are. It is read again when the file
// changes, so that whoever renews it need not restart the program.
#pragma once

#include <grpcpp/client_context.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe.
class TokenFile {
 public:
  // Null without a path. Errors: INVALID_ARGUMENT: the file cannot be read, or does not hold one
  // line.
  static absl::StatusOr<std::shared_ptr<TokenFile>> Open(const std::string& path);

  // Shows the token to the daemon. Requires: the call has not begun.
  void AddTo(grpc::ClientContext& context);

  // Rises when the file has changed. A file that cannot be read at the moment counts as unchanged.
  uint64_t Version();

 private:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  // With the mutex held.
  absl::Status Read();
  void ReadIfChanged();

  const std::string path_;
  std::mutex mutex_;
  struct stat seen_{};         // Guarded by mutex_, as all below.
  std::string authorization_;  // "Bearer TOKEN"
  uint64_t version_ = 0;
};

}  // namespace lockkeeper::client
