// SPDX-License-Identifier: Apache-2.0
//
// Reads small files as a whole.
#pragma once

#include <cstddef>
#include <string>

#include "text/problem.h"

namespace lockkeeper::os {

// Reads the file at `path` into `text`. Returns a problem if that fails, or if the file has more
// than `bytes_max` bytes.
text::Problem ReadFile(const std::string& path, size_t bytes_max, std::string& text);

// Of a file with a password.
inline constexpr size_t kPasswordBytesMax = 4096;

// The password in the text of its file: the whole, without one newline at its end. Returns a
// problem if it is empty, or has more than one line.
text::Problem ParsePassword(std::string text, std::string& password);

// Reads a password from its file. Returns a problem also if the file cannot be read.
text::Problem ReadPasswordFile(const std::string& path, std::string& password);

}  // namespace lockkeeper::os
