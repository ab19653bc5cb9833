// SPDX-License-Identifier: Apache-2.0
#include "os/read_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace lockkeeper::os {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string Reason(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

text::Problem ReadFile(const std::string& path, size_t bytes_max, std::string& text) {
  // "e": a child, such as the embedded store, does not inherit the descriptor.
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return Reason("cannot be opened");
  text.clear();
  std::array<char, 4096> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), count);
    if (text.size() > bytes_max) return "has more than " + std::to_string(bytes_max) + " bytes";
  }
  if (std::ferror(file.get()) != 0) return Reason("cannot be read");
  return std::nullopt;
}

text::Problem ParsePassword(std::string text, std::string& password) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) return "is empty";
  if (text.find('\n') != std::string::npos) return "has more than one line";
  password = std::move(text);
  return std::nullopt;
}

text::Problem ReadPasswordFile(const std::string& path, std::string& password) {
  std::string text;
  if (text::Problem problem = ReadFile(path, kPasswordBytesMax, text)) return problem;
  return ParsePassword(std::move(text), password);
}

}  // namespace lockkeeper::os
