// SPDX-License-Identifier: Apache-2.0
//
// Waits for signals, so that no code runs inside a handler.
#pragma once

#include <optional>

#include "core/types.h"

namespace lockkeeper::daemon {

// What SIGHUP, which terminals send when they close, does.
enum class Hangup {
  kEndsProcess,
  kIsReturned,  // By Wait.
};

// Blocks SIGTERM and SIGINT, and perhaps SIGHUP, so that Wait returns them, and ignores SIGPIPE,
// for the whole process.
//
// Thread-safety: thread-compatible. Make it before any other thread, since threads inherit blocked
// signals.
class Signals {
 public:
  explicit Signals(Hangup hangup);  // Ends the process if the kernel has no descriptor to give.
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Waits for the next signal, or until `event` (an eventfd) is readable; then returns nothing.
  std::optional<int> Wait(int event);

 private:
  const int descriptor_;
};

// "SIGTERM"
const char* NameOfSignal(int signal);

}  // namespace lockkeeper::daemon
