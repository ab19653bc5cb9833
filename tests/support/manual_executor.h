// SPDX-License-Identifier: Apache-2.0
//
// The loop in virtual time: nothing runs until the test says so, and then always
// in the same order. A turn is: timers that are due, by (time, order of starting); what was posted
// before the turn, in order; what waits for the end of the turn.
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

  // As After, for a task that nobody stops.
  void Later(core::Micros delay, core::Task task);

  // Runs one turn at the present time. False if there was nothing to run.
  bool RunTurn();

  // Runs turns at the present time until there is nothing to run. More than a million turns are a
  // failure of the test: tasks that keep posting each other would go on for ever.
  void RunUntilIdle();

  // Lets `duration` pass, stopping at each timer on the way; idle at the end of it.
  void AdvanceBy(core::Micros duration);

  // Lets time pass until `condition` holds, which is asked after each turn. False if it does not
  // within `limit`.
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
