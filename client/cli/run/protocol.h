// SPDX-License-Identifier: Apache-2.0
//
// What run and its guardian say to each other: fixed-size messages on a SOCK_SEQPACKET pair. Both
// ends are the same program.
#pragma once

#include <array>
#include <cstdint>

#include "cli/run/stop_plan.h"

namespace lockkeeper::cli {

// From run.
struct Order {
  enum class Kind : int32_t {
    kStart,     // Start the command: lease_id, token, times, in_foreground.
    kTimes,     // The lease was renewed: times.
    kSignal,    // Send `signal` to the command or, with to_group, to its group.
    kContinue,  // Let the stopped group go on, unless it is to be stopped for its lease.
    kStop,      // The lease is lost: stop the group.
  };

  Kind kind = Kind::kStart;
  int32_t signal = 0;
  int64_t fencing_token = 0;
  StopTimes times{};
  std::array<char, 64> lease_id{};  // Ends with 0.
  bool in_foreground = false;       // Give the command the terminal.
  bool to_group = false;
};

// From the guardian.
struct Notice {
  enum class Kind : int32_t {
    kStarted,     // pid; it is about to become the command.
    kNotStarted,  // error. After kStarted, or instead of it.
    kStopped,     // The command stands still (SIGTSTP and its like).
    kEnded,       // The command and its group are gone: wait_status, for_lease.
  };

  Kind kind = Kind::kStarted;
  int32_t pid = 0;
  int32_t error = 0;        // An errno.
  int32_t wait_status = 0;  // As of waitpid.
  bool for_lease = false;   // It was stopped because its lease was about to end.
};

}  // namespace lockkeeper::cli
