// SPDX-License-Identifier: Apache-2.0
//
// Signals taken from a descriptor instead of handlers.
#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "os/descriptor.h"

namespace lockkeeper::cli {

// Blocks `signals` for this thread and those it starts, but for those that were ignored when the
// program started: whoever asked for that (nohup, say) asked for all that it starts.
class SignalQueue {
 public:
  SignalQueue(std::initializer_list<int> signals);

  // Readable when a signal has come.
  int descriptor() const { return descriptor_.get(); }

  // The next signal that has come. Nothing if there is none.
  std::optional<int> Take();

  // Gives the signals back their effect on this thread, and so on the process: the next one ends
  // it.
  void LetThrough();

 private:
  sigset_t taken_{};
  os::Descriptor descriptor_;
};

// The signal mask of this thread.
sigset_t CurrentSignalMask();

}  // namespace lockkeeper::cli
