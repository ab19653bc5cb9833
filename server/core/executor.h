// SPDX-License-Identifier: Apache-2.0
//
// The loop, as the domain sees it: the one thread that it runs on. Runs tasks now, later, or at the
// end of the turn. In the daemon it is the event loop; in the simulator a queue in virtual time.
#pragma once

#include <memory>

#include "absl/functional/any_invocable.h"
#include "core/types.h"

namespace lockkeeper::core {

using Task = absl::AnyInvocable<void() &&>;

// A task that runs later. Destroying the timer before that cancels it.
//
// Thread-safety: loop-thread only.
class Timer {
 public:
  virtual ~Timer() = default;
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` on the loop's thread, after tasks posted before. Many posts cost one wake-up.
  // Thread-safety: thread-safe. Never runs `task` before it returns.
  virtual void Post(Task task) = 0;

  // Runs `task` on the loop's thread once `delay` has passed. Keep the timer, or it is cancelled.
  // Thread-safety: loop-thread only.
  [[nodiscard]] virtual std::unique_ptr<Timer> After(Micros delay, Task task) = 0;

  // Runs `task` when the loop has taken all work that is ready in this turn, before it sleeps.
  // Thread-safety: loop-thread only.
  virtual void AtEndOfTurn(Task task) = 0;
};

}  // namespace lockkeeper::core
