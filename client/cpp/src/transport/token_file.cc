// SPDX-License-Identifier: Apache-2.0
#include "transport/token_file.h"

#include <tuple>
#include <utility>

#include "os/read_file.h"
#include "status_payloads.h"

namespace lockkeeper::client {
namespace {

// Where the file is in the file system, and when it was written: a path may lead to another file
// without that any file was written.
auto VersionOf(const struct stat& file) {
  return std::tuple(file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec,
                    file.st_mtim.tv_nsec);
}

}  // namespace

absl::StatusOr<std::shared_ptr<TokenFile>> TokenFile::Open(const std::string& path) {
  if (path.empty()) return nullptr;
  std::shared_ptr<TokenFile> file(new TokenFile(path));
  const std::lock_guard lock(file->mutex_);
  if (absl::Status status = file->Read(); !status.ok()) return status;
  return file;
}

absl::Status TokenFile::Read() {
  struct stat now{};
  std::string token;
  // The status first: what is written after it is read again.
  const bool exists = stat(path_.c_str(), &now) == 0;
  if (text::Problem problem = os::ReadPasswordFile(path_, token)) {
    return InvalidOption("token_file", "`" + path_ + "` " + *problem);
  }
  if (exists) seen_ = now;
  std::string authorization = "Bearer " + token;
  if (authorization == authorization_) return absl::OkStatus();
  authorization_ = std::move(authorization);
  ++version_;
  return absl::OkStatus();
}

void TokenFile::ReadIfChanged() {
  struct stat now{};
  if (stat(path_.c_str(), &now) != 0 || VersionOf(now) == VersionOf(seen_)) return;
  Read().IgnoreError();  // It is being written; the next call finds it whole.
}

void TokenFile::AddTo(grpc::ClientContext& context) {
  const std::lock_guard lock(mutex_);
  ReadIfChanged();
  context.AddMetadata("authorization", authorization_);
}

uint64_t TokenFile::Version() {
  const std::lock_guard lock(mutex_);
  ReadIfChanged();
  return version_;
}

}  // namespace lockkeeper::client
