// SPDX-License-Identifier: Apache-2.0
//
// Runs a load program and reads the figures that it prints (load/figures.h).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockkeeper::bench {

// What `command` prints on its standard output. Errors: throws std::runtime_error with what it
// wrote besides if it fails or does not end within ten minutes.
// Thread-safety: not thread-safe; call it on the thread that ends last (see ChildProcess).
std::string OutputOf(const std::vector<std::string>& command);

// By name; the name's end tells the unit: `_us`, `_per_s`.
using Figures = std::map<std::string, double>;

// The figures that `command` prints. Errors: throws also if it prints something else.
Figures RunProgram(const std::vector<std::string>& command);

}  // namespace lockkeeper::bench
