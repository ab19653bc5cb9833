// SPDX-License-Identifier: Apache-2.0
//
// The controlling terminal, which run lends to the command and takes back.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

#include "os/descriptor.h"

namespace lockkeeper::cli {

// Requires: SIGTTOU is blocked when Lend and TakeBack are called. Without a terminal all functions
// do nothing.
class Terminal {
 public:
  // Opens the controlling terminal, if there is one.
  Terminal();

  bool exists() const { return descriptor_.valid(); }
  int descriptor() const { return descriptor_.get(); }

  // Whether our process group has the terminal.
  bool IsOurs() const;

  // Lends the terminal to `group`, if it is ours.
  void Lend(pid_t group);

  // Takes the terminal back, if `group` has it.
  void TakeBack(pid_t group);

  // Restores the modes that the terminal had at the start, because a killed command may have
  // changed them. Requires: IsOurs.
  void RestoreModes();

 private:
  os::Descriptor descriptor_;
  std::optional<termios> modes_;
};

}  // namespace lockkeeper::cli
