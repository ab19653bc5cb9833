// SPDX-License-Identifier: Apache-2.0
//
// Small files, read whole.
#pragma once

#include <string>

#include "text/problem.h"

namespace lockkeeper::os {

// Reads the file at `path` into `text`. A problem if that fails or there are more than `bytes_max`.
text::Problem ReadFile(const std::string& path, size_t bytes_max, std::string& text);

// Reads a password: the whole file, but for one newline at its end. A problem if it cannot be read,
// is empty, or has more than one line.
text::Problem ReadPasswordFile(const std::string& path, std::string& password);

}  // namespace lockkeeper::os
