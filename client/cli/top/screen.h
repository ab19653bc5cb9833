// SPDX-License-Identifier: Apache-2.0
//
// The screen that `top` takes over, and gives back as it was.
#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace lockkeeper::cli {

// Has the terminal's second screen, without a cursor, and its keys one by one, while it lives.
// Ctrl-C and Ctrl-Z still make signals. Thread-safety: thread-compatible.
class Screen {
 public:
  // Requires: standard input and output are terminals.
  Screen();
  // Gives the terminal back.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Gives the terminal back for a while, as when the program is stopped.
  void Leave();
  void Enter();

  struct Size {
    size_t columns = 80;
    size_t rows = 24;
  };
  static Size SizeNow();

  // Shows `lines`, a whole screen, and highlights one of them. False if it cannot be written.
  bool Show(const std::vector<std::string>& lines, std::optional<size_t> highlighted);

 private:
  bool entered_ = false;
  termios modes_{};
};

}  // namespace lockkeeper::cli
