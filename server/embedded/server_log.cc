// SPDX-License-Identifier: Apache-2.0
#include "embedded/server_log.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace lockkeeper::embedded {
namespace {

constexpr size_t kLogBytesMax = 1 << 20;
constexpr size_t kTailBytesMax = 2048;

size_t SizeOf(const std::string& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  return none ? 0 : size;
}

}  // namespace

ServerLog::ServerLog(std::string path) : path_(std::move(path)) {}

void ServerLog::BeginRun() {
  std::error_code ignored;  // At worst the file keeps growing.
  if (SizeOf(path_) > kLogBytesMax) std::filesystem::rename(path_, path_ + ".1", ignored);
  begin_ = SizeOf(path_);
}

std::string ServerLog::Tail() const {
  const size_t end = SizeOf(path_);
  const size_t begin = std::max(begin_, end > kTailBytesMax ? end - kTailBytesMax : 0);
  std::ifstream file(path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string text(end - std::min(begin, end), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (begin > begin_) text.erase(0, text.find('\n') + 1);  // A line that was cut.
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace lockkeeper::embedded
