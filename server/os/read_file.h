// SPDX-License-Identifier: Apache-2.0
//
// Reads small files as a whole.
#pragma once

#include <string>

#include "text/problem.h"

namespace lockkeeper::os {

// Reads the file at `path` into `text`. Returns a problem if that fails, or if the file has more
// than `bytes_max` bytes.
text::Problem ReadFile(const std::string& path, size_t bytes_max, std::string& text);

// Reads a password: the whole file, without one newline at its end. Returns a problem if the file
// cannot be read, is empty, or has more than one line.
text::Problem ReadPasswordFile(const std::string& path, std::string& password);

}  // namespace lockkeeper::os
