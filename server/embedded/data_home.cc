// SPDX-License-Identifier: Apache-2.0
#include "embedded/data_home.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/errors.h"
#include "text/stable_hash.h"

namespace lockkeeper::embedded {
namespace {

constexpr mode_t kPrivate = 0700;
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kNanosPerMicro = 1'000;

absl::Status DirectoryError(const std::string& path, int error) {
  return core::Error(core::ErrorReason::kStoreUnavailable,
                     "data directory " + path + ": " + std::generic_category().message(error));
}

std::string InDigits(const struct statx_timestamp& time) {
  return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
}

// From the inode number and the time of birth. A copy has another time of birth, even if it reuses
// the inode number. The device number is left out if there is a time of birth: a reboot may change
// it, which would cause a needless quarantine.
std::string IdOf(const struct statx& folder) {
  const bool has_birth = (folder.stx_mask & STATX_BTIME) != 0;
  std::string text = std::to_string(folder.stx_ino) + " ";
  text += has_birth
              ? InDigits(folder.stx_btime)
              : std::to_string(folder.stx_dev_major) + ":" + std::to_string(folder.stx_dev_minor);
  return core::Hex16(text::StableHash(text));
}

core::WallTime ChangeOf(const struct statx& file) {
  return {file.stx_ctime.tv_sec * kMicrosPerSecond + file.stx_ctime.tv_nsec / kNanosPerMicro};
}

}  // namespace

absl::StatusOr<DataHome> LookAtHome(const std::string& data_directory) {
  // The server's default of `appenddirname`.
  const std::string path = data_directory + "/appendonlydir";
  if (mkdir(path.c_str(), kPrivate) != 0 && errno != EEXIST) return DirectoryError(path, errno);
  const auto look = [](const std::string& at, struct statx& to) {
    return statx(AT_FDCWD, at.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &to);
  };
  struct statx info{};
  if (look(path, info) != 0) return DirectoryError(path, errno);
  DataHome home{.id = IdOf(info), .changed = ChangeOf(info)};
  std::error_code error;
  std::filesystem::directory_iterator file(path, error);
  for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
    if (look(file->path().string(), info) != 0) return DirectoryError(file->path().string(), errno);
    home.changed = std::max(home.changed, ChangeOf(info));
  }
  if (error) return DirectoryError(path, error.value());
  return home;
}

}  // namespace lockkeeper::embedded
