// SPDX-License-Identifier: Apache-2.0
//
// Reads the YAML file into keys, values and lines, and rejects unknown keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/setting.h"

namespace lockkeeper::config {

// A setting in the file.
struct FileValue {
  const Setting* setting = nullptr;
  RawValue value;
  int line = 0;  // From 1.
};

struct FileContents {
  std::string text;
  std::vector<FileValue> values;      // In the order of the file.
  std::vector<std::string> problems;  // Each with "file:line: " before it.
};

// Reads the file at `path`. A file that cannot be read or is not valid YAML is a problem.
FileContents ReadConfigFile(const std::string& path);

// The same for the text of the file; `path` appears in the problems.
FileContents ParseConfigText(std::string_view text, const std::string& path);

}  // namespace lockkeeper::config
