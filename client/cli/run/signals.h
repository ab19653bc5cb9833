// SPDX-License-Identifier: Apache-2.0
//
// The signals that run passes on, taken from a descriptor instead of handlers.
#pragma once

#include <csignal>
#include <optional>

#include "cli/run/descriptor.h"

namespace lockkeeper::cli {

// Whether a signal is meant for the whole group of the command, as one from the terminal is, or for
// the command alone.
bool IsForGroup(int signal);

// Blocks, for this thread and those it starts, the signals to pass on (HUP INT QUIT TERM USR1 USR2
// WINCH, but for those that were ignored when the program started) and CONT; and lets writes and
// terminal calls from the background work. Not undone.
class SignalQueue {
 public:
  SignalQueue();

  // Readable when a signal has come.
  int descriptor() const { return descriptor_.get(); }

  // The next signal that has come. Nothing if there is none.
  std::optional<int> Take();

 private:
  Descriptor descriptor_;
};

// The signal mask of this thread.
sigset_t CurrentSignalMask();

}  // namespace lockkeeper::cli
