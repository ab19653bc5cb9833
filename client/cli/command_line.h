// SPDX-License-Identifier: Apache-2.0
//
// The command `lockkeeper`: reads the arguments, does what they say, prints one report.
#pragma once

#include <string>
#include <vector>

namespace lockkeeper::cli {

// Returns the exit code. Requires: no other thread runs yet, since `run` forks.
int RunCommandLine(const std::vector<std::string>& words);

}  // namespace lockkeeper::cli
