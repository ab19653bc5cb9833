// SPDX-License-Identifier: Apache-2.0
//
// The loop in virtual time: tasks run only when the test says so, and always in the same order. A
// turn runs the due timers, by (time, order of starting); then the tasks that were posted before
// the turn, in order; then the end-of-turn tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/executor.h"
#include "core/types.h"
#include "support/manual_clock.h"

namespace lockkeeper::support {

// Thread-safety: not thread-safe, unlike its base. Lifetime: borrows the clock; timers may outlive
// it.
class ManualExecutor final : public core::Executor {
 public:
  explicit ManualExecutor(ManualClock& clock);
  ~ManualExecutor() override;

  void Post(core::Task task) override;
  [[nodiscard]] std::unique_ptr<core::Timer> After(core::Micros delay, core::Task task) override;
  void AtEndOfTurn(core::Task task) override;

  // As After, for a task that is never cancelled.
  void Later(core::Micros delay, core::Task task);

  // Runs one turn at the current time. False if there was nothing to run.
  bool RunTurn();

  // Runs turns at the current time until there is nothing to run. Fails the test after a million
  // turns, because then tasks keep posting each other for ever.
  void RunUntilIdle();

  // Moves time by `duration`, runs each timer at its time, and is idle at the end.
  void AdvanceBy(core::Micros duration);

  // Moves time until `condition`, which is checked after each turn, holds. False if it does not
  // hold within `limit`.
  bool AdvanceUntil(absl::FunctionRef<bool()> condition, core::Micros limit);

  // When the next timer is due. Nothing if there is none.
  std::optional<core::Instant> NextTimer() const;

 private:
  using TimerKey = std::pair<core::Instant, uint64_t>;
  using Timers = std::map<TimerKey, core::Task>;
  class PendingTimer;

  TimerKey Start(core::Micros delay, core::Task task);
  bool HasReadyWork() const;
  void RunDueTimers();
  static void RunAll(std::vector<core::Task>& tasks, std::vector<core::Task>& running);

  ManualClock& clock_;
  uint64_t next_timer_ = 0;
  std::shared_ptr<Timers> timers_;
  std::vector<core::Task> posted_;
  std::vector<core::Task> end_of_turn_;
  std::vector<core::Task> running_;  // Keeps its memory from turn to turn.
};

}  // namespace lockkeeper::support
