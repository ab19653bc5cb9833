// SPDX-License-Identifier: Apache-2.0
//
// What the main functions of the load programs have in common.
#pragma once

#include <exception>
#include <iostream>

namespace lockkeeper::bench {

// The exit code that `body` answers; 1, and what went wrong on stderr, if it throws.
template <typename Body>
int ProgramMain(const char* program, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace lockkeeper::bench
