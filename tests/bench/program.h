// SPDX-License-Identifier: Apache-2.0
//
// Runs a load program and reads the figures that it prints (load/latencies.h).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockkeeper::bench {

// By name; the name's end tells the unit: `_us`, `_per_s`.
using Figures = std::map<std::string, double>;

// Runs `command` to its end. Errors: throws std::runtime_error with what the program wrote if it
// fails, prints something else, or does not end within ten minutes.
// Thread-safety: not thread-safe; call it on the thread that ends last (see ChildProcess).
Figures RunProgram(const std::vector<std::string>& command);

}  // namespace lockkeeper::bench
