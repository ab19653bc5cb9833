// SPDX-License-Identifier: Apache-2.0
#include "embedded/data_directory.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/errors.h"
#include "text/stable_hash.h"

namespace lockkeeper::embedded {
namespace {

constexpr core::Millis kNap{20};
constexpr mode_t kPrivate = 0700;
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;
constexpr size_t kPidBytesMax = 32;

absl::Status DirectoryError(const std::string& path, const std::string& what) {
  return core::Error(core::ErrorReason::kStoreUnavailable, "data directory " + path + ": " + what);
}

std::string InWords(int error) { return std::generic_category().message(error); }

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return DirectoryError(path, "cannot create its parent folder: " + error.message());
  if (mkdir(path.c_str(), kPrivate) == 0) return absl::OkStatus();
  if (errno != EEXIST) return DirectoryError(path, "cannot be created: " + InWords(errno));
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return DirectoryError(path, InWords(errno));
  if (!S_ISDIR(info.st_mode)) return DirectoryError(path, "is not a directory");
  if ((info.st_mode & kOthersMayWrite) != 0) {
    return DirectoryError(path, "other users may write to it: use chmod 700, or another folder");
  }
  return absl::OkStatus();
}

// The process id in the lock file; empty if there is none.
std::string HolderOf(int lock) {
  char text[kPidBytesMax];
  const ssize_t length = pread(lock, text, sizeof text, 0);
  if (length <= 0) return "";
  std::string_view pid(text, static_cast<size_t>(length));
  return std::string(pid.substr(0, pid.find('\n')));
}

absl::StatusOr<os::Descriptor> TakeLock(const std::string& path, core::Millis patience,
                                        absl::FunctionRef<void(const std::string&)> on_wait) {
  os::Descriptor lock(open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return DirectoryError(path, "cannot open its lock file: " + InWords(errno));
  core::Millis waited{0};
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return DirectoryError(path, "lock: " + InWords(errno));
    if (waited >= patience) {
      return DirectoryError(
          path, "is in use by the lockkeeperd with process id " + HolderOf(lock.get()) +
                    ", or by the server that it left behind; each daemon needs its own folder");
    }
    if (waited == core::Millis(0)) on_wait(HolderOf(lock.get()));
    poll(nullptr, 0, static_cast<int>(kNap.count()));  // flock has no time limit.
    waited += kNap;
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(lock.get(), 0) != 0 ||
      pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return DirectoryError(path, "cannot write its lock file: " + InWords(errno));
  }
  return lock;
}

// A folder with a short name that is the same at each start, so that restarts leave no folders
// behind.
absl::StatusOr<std::string> RuntimeFolder(const std::string& data_directory) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string parent = runtime != nullptr && *runtime == '/' ? runtime : "/tmp";
  std::string path = parent + "/lockkeeper-" + core::Hex16(text::StableHash(data_directory));
  if (mkdir(path.c_str(), kPrivate) != 0 && errno != EEXIST) {
    return DirectoryError(path, "cannot be created: " + InWords(errno));
  }
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) return DirectoryError(path, InWords(errno));
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & kOthers) != 0) {
    return DirectoryError(path,
                          "for the socket, must be a directory that only its owner may use: remove "
                          "it");
  }
  return path;
}

absl::StatusOr<std::string> SocketPath(const std::string& data_directory) {
  constexpr std::string_view kName = "/redis.sock";
  std::string path = data_directory + std::string(kName);
  if (path.size() <= kSocketPathMax) return path;
  absl::StatusOr<std::string> folder = RuntimeFolder(data_directory);
  if (!folder.ok()) return folder.status();
  path = *folder + std::string(kName);
  if (path.size() <= kSocketPathMax) return path;
  return DirectoryError(data_directory,
                        "its path is too long for a unix socket, and so is that of "
                        "XDG_RUNTIME_DIR: name a shorter one");
}

}  // namespace

DataDirectory::DataDirectory(std::string path, std::string socket_path, os::Descriptor lock)
    : path_(std::move(path)), socket_path_(std::move(socket_path)), lock_(std::move(lock)) {}

absl::StatusOr<DataDirectory> DataDirectory::Open(
    const std::string& path, core::Millis patience,
    absl::FunctionRef<void(const std::string& holder)> on_wait) {
  std::error_code error;
  std::string absolute = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error || path.empty()) return DirectoryError(path, "is not a path");
  while (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  if (absl::Status status = MakeFolder(absolute); !status.ok()) return status;
  absl::StatusOr<os::Descriptor> lock = TakeLock(absolute, patience, on_wait);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<std::string> socket_path = SocketPath(absolute);
  if (!socket_path.ok()) return socket_path.status();
  return DataDirectory(std::move(absolute), *std::move(socket_path), *std::move(lock));
}

}  // namespace lockkeeper::embedded
