// SPDX-License-Identifier: Apache-2.0
//
// Signals, read from a descriptor instead of delivered to handlers.
#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "os/descriptor.h"

namespace lockkeeper::cli {

// Blocks `signals` for this thread and the threads it starts, except signals that were ignored when
// the program started: nohup, for example, means all processes below it.
class SignalQueue {
 public:
  SignalQueue(std::initializer_list<int> signals);

  // Readable when a signal is pending.
  int descriptor() const { return descriptor_.get(); }

  // The next pending signal. Nothing if there is none.
  std::optional<int> Take();

  // Unblocks the signals on this thread, so that the next one ends the process.
  void LetThrough();

 private:
  sigset_t taken_{};
  os::Descriptor descriptor_;
};

// The signal mask of this thread.
sigset_t CurrentSignalMask();

}  // namespace lockkeeper::cli
