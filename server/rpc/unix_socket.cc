// SPDX-License-Identifier: Apache-2.0
#include "rpc/unix_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace lockkeeper::rpc {
namespace {

absl::Status Problem(const std::string& path, const std::string& what) {
  return {absl::StatusCode::kUnavailable, "unix:" + path + ": " + what};
}

std::string LockPath(const std::string& path) { return path + ".lock"; }

bool IsSameFile(int fd, const std::string& path) {
  struct stat by_fd{};
  struct stat by_path{};
  return fstat(fd, &by_fd) == 0 && stat(path.c_str(), &by_path) == 0 &&
         by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev;
}

absl::StatusOr<int> TakeLock(const std::string& path) {
  const std::string lock_path = LockPath(path);
  while (true) {
    const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return Problem(path, "cannot make " + lock_path + ": " + std::strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      close(fd);
      return Problem(path, "in use by another daemon");
    }
    // Its last owner may have removed the file between our two calls.
    if (IsSameFile(fd, lock_path)) return fd;
    close(fd);
  }
}

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Problem(
        path, "the path has to be 1 to " + std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  path.copy(address.sun_path, path.size());
  return address;
}

// Whether some program accepts connections on the path.
bool IsServed(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return true;  // Not known, so not ours to take.
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  // EAGAIN: it listens, but its backlog is full.
  const bool served = result == 0 || (errno != ECONNREFUSED && errno != ENOENT);
  close(fd);
  return served;
}

absl::Status CheckFree(const std::string& path, const sockaddr_un& address) {
  struct stat file{};
  if (lstat(path.c_str(), &file) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return Problem(path, std::strerror(errno));
  }
  if (!S_ISSOCK(file.st_mode)) return Problem(path, "exists and is not a socket");
  if (IsServed(address)) return Problem(path, "in use by another program");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixSocketClaim>> UnixSocketClaim::Make(const std::string& path) {
  const absl::StatusOr<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.status();
  const absl::StatusOr<int> lock_fd = TakeLock(path);
  if (!lock_fd.ok()) return lock_fd.status();
  if (absl::Status status = CheckFree(path, *address); !status.ok()) {
    unlink(LockPath(path).c_str());
    close(*lock_fd);
    return status;
  }
  return std::unique_ptr<UnixSocketClaim>(new UnixSocketClaim(path, *lock_fd));
}

UnixSocketClaim::UnixSocketClaim(std::string path, int lock_fd)
    : path_(std::move(path)), lock_fd_(lock_fd) {}

UnixSocketClaim::~UnixSocketClaim() {
  unlink(path_.c_str());
  unlink(LockPath(path_).c_str());
  close(lock_fd_);
}

}  // namespace lockkeeper::rpc
