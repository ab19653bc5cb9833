// SPDX-License-Identifier: Apache-2.0
//
// The controlling terminal, which is lent to the command and taken back.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

#include "os/descriptor.h"

namespace lockkeeper::cli {

// Requires: SIGTTOU is blocked where Lend and TakeBack are called. Without a terminal all do
// nothing.
class Terminal {
 public:
  // Opens the controlling terminal, if there is one.
  Terminal();

  bool exists() const { return descriptor_.valid(); }
  int descriptor() const { return descriptor_.get(); }

  // Whether our process group has the terminal.
  bool IsOurs() const;

  // Lends it to `group`, if it is ours.
  void Lend(pid_t group);

  // Takes it back, if `group` has it.
  void TakeBack(pid_t group);

  // Sets its modes to what they were at the beginning: a command that was killed may have left them
  // as it liked. Requires: it is ours.
  void RestoreModes();

 private:
  os::Descriptor descriptor_;
  std::optional<termios> modes_;
};

}  // namespace lockkeeper::cli
