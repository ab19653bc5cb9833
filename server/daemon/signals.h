// SPDX-License-Identifier: Apache-2.0
//
// Signals as something to wait for, so that no code runs inside a handler.
#pragma once

#include <optional>

#include "core/types.h"

namespace lockkeeper::daemon {

// Takes SIGTERM and SIGINT out of the usual delivery, and ignores SIGPIPE, for the whole process.
//
// Thread-safety: thread-compatible. Make it before any other thread is started, since threads
// inherit what is blocked.
class Signals {
 public:
  Signals();  // Ends the process if the kernel has no descriptor to give.
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Waits for the next signal, or until `event` (an eventfd) can be read. Nothing if it can.
  std::optional<int> Wait(int event);

 private:
  const int descriptor_;
};

// "SIGTERM"
const char* NameOfSignal(int signal);

}  // namespace lockkeeper::daemon
