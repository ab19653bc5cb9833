// SPDX-License-Identifier: Apache-2.0
//
// run's loop while the command runs: passes signals and the lease's times to the guardian, lends
// the terminal, and stops when the command is stopped.
#pragma once

#include <optional>
#include <string>

#include "cli/progress.h"
#include "cli/run/guardian_link.h"
#include "cli/run/terminal.h"
#include "cli/signals/signals.h"
#include "cli/signals/wake_up.h"
#include "lockkeeper/lease.h"

namespace lockkeeper::cli {

// How the command ended.
struct CommandEnd {
  enum class How {
    kByItself,      // wait_status.
    kForLease,      // It was stopped because its lease was lost.
    kNotStarted,    // error.
    kGuardianGone,  // It was killed because its guardian is gone.
  };

  How how = How::kByItself;
  int wait_status = 0;
  int error = 0;
};

// Thread-safety: thread-compatible. Lifetime: borrows all arguments.
class Supervisor {
 public:
  Supervisor(GuardianLink& guardian, SignalQueue& signals, Terminal& terminal, Lease& lease,
             Duration grace, Progress& progress);

  // Starts the command and returns when it and its group are gone.
  CommandEnd Run();

 private:
  StopTimes TimesOfLease() const;
  // The text that is printed while renewals fail.
  std::string Outlook() const;
  void OnLease();
  void OnSignal(int signal);
  void OnContinued();
  void OnStopped();
  void OnNotice(const Notice& notice);
  void OnGuardianGone();

  GuardianLink& guardian_;
  SignalQueue& signals_;
  Terminal& terminal_;
  Lease& lease_;
  const Duration grace_;
  Progress& progress_;
  const WakeUp lease_changed_;
  pid_t command_ = 0;
  bool is_lost_ = false;
  std::optional<CommandEnd> end_;
};

}  // namespace lockkeeper::cli
