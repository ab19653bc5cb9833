// SPDX-License-Identifier: Apache-2.0
//
// Small files, read whole.
#pragma once

#include <string>

#include "config/problem.h"

namespace lockkeeper::config {

// Reads the file at `path` into `text`. A problem if that fails or there are more than `bytes_max`.
Problem ReadFile(const std::string& path, size_t bytes_max, std::string& text);

// Reads a password: the whole file, but for one newline at its end. A problem if it cannot be read,
// is empty, or has more than one line.
Problem ReadPasswordFile(const std::string& path, std::string& password);

}  // namespace lockkeeper::config
