// SPDX-License-Identifier: Apache-2.0
//
// The wall clock of a real process, under control of the test, which can stop it and set it while
// the process runs. It is a preloaded library, so it needs no rights and changes no other clock.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/types.h"
#include "support/clock/clock_control.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::support {

// Lifetime: outlives the processes that were started with its environment.
// Thread-safety: thread-safe.
class ServerClock {
 public:
  // A clock that runs with the machine's. Throws std::system_error.
  ServerClock();
  ~ServerClock();
  ServerClock(const ServerClock&) = delete;
  ServerClock& operator=(const ServerClock&) = delete;

  // What a process needs in its environment to have this clock.
  std::vector<std::pair<std::string, std::string>> environment() const;

  // Stands at `time` from now on, and moves only by StepBy.
  void StandStillAt(core::NodeTime time) { control_->stands_at_us = time.micros; }

  // Sets the clock forward, or back if negative.
  void StepBy(core::Micros step);

 private:
  TemporaryDirectory directory_;
  std::string file_;
  ClockControl* control_;
};

}  // namespace lockkeeper::support
