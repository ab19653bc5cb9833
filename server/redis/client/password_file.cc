// SPDX-License-Identifier: Apache-2.0
#include "redis/client/password_file.h"

#include <string>
#include <utility>

#include "core/errors.h"
#include "os/read_file.h"

namespace lockkeeper::redis {

absl::StatusOr<std::shared_ptr<PasswordFile>> PasswordFile::Load(os::NamedFile file) {
  std::shared_ptr<PasswordFile> made(new PasswordFile(std::move(file)));
  os::Contents contents;
  text::Problem problem = os::ReadTogether(made->files(), contents);
  if (!problem) problem = made->Take(contents);
  if (problem) return core::Error(core::ErrorReason::kInvalidField, *problem);
  return made;
}

text::Secret PasswordFile::Current() const {
  const std::lock_guard lock(mutex_);
  return password_;
}

os::FileSet PasswordFile::files() const {
  return {.files = {file_}, .bytes_max = os::kPasswordBytesMax};
}

os::Contents PasswordFile::contents() const {
  const std::lock_guard lock(mutex_);
  return contents_;
}

text::Problem PasswordFile::Take(const os::Contents& contents) {
  std::string password;
  if (const text::Problem problem = os::ParsePassword(contents.front(), password)) {
    return file_.name + ": " + text::Quoted(file_.path) + " " + *problem;
  }
  const std::lock_guard lock(mutex_);
  password_ = text::Secret(std::move(password));
  contents_ = contents;
  return std::nullopt;
}

}  // namespace lockkeeper::redis
