// SPDX-License-Identifier: Apache-2.0
//
// The thread of one simulated process, which can be paused and killed. All tasks of the process run
// here, so none runs while it is paused, and none after it was killed.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/executor.h"
#include "support/manual_executor.h"

namespace lockkeeper::simulation {

// Thread-safety: not thread-safe. Lifetime: borrows the executor; tasks may outlive this.
class Process final : public core::Executor {
 public:
  explicit Process(support::ManualExecutor& world) : world_(world) {}
  ~Process() override { Kill(); }

  void Post(core::Task task) override;
  [[nodiscard]] std::unique_ptr<core::Timer> After(core::Micros delay, core::Task task) override;
  void AtEndOfTurn(core::Task task) override;

  // As After, for a task that nobody stops.
  void Later(core::Micros delay, core::Task task);

  void Pause() { life_->paused = true; }
  void Resume();
  void Kill() { life_->dead = true; }
  bool dead() const { return life_->dead; }

 private:
  // The tasks that were posted to the world, in the order in which the world will run them.
  using Tasks = std::deque<core::Task>;

  // A dead process runs no tasks, but its memory stays until it is destroyed, so that references
  // between its parts stay valid.
  struct Life {
    bool paused = false;
    bool dead = false;
    Tasks posted;
    Tasks end_of_turn;
    std::vector<core::Task> held_back;

    void Run(core::Task task);
    void RunFirst(Tasks& tasks);
  };
  struct Timed;
  class GuardedTimer;

  support::ManualExecutor& world_;
  std::shared_ptr<Life> life_ = std::make_shared<Life>();
};

}  // namespace lockkeeper::simulation
