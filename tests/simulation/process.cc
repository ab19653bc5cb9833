// SPDX-License-Identifier: Apache-2.0
#include "simulation/process.h"

#include <utility>

namespace lockkeeper::simulation {

core::Task Process::Guarded(std::shared_ptr<Life> life, core::Task task) {
  return [life = std::move(life), task = std::move(task)]() mutable {
    // Nothing of a dead process runs, but its memory goes with it, not before: what its parts
    // know of each other stays valid until they are destroyed.
    if (life->dead || life->paused) {
      life->held_back.push_back(std::move(task));
    } else {
      std::move(task)();
    }
  };
}

void Process::Post(core::Task task) { world_.Post(Guarded(life_, std::move(task))); }

std::unique_ptr<core::Timer> Process::After(core::Micros delay, core::Task task) {
  // A timer that is destroyed while its task is held back must not run it: the flag goes with it.
  class GuardedTimer final : public core::Timer {
   public:
    explicit GuardedTimer(std::shared_ptr<bool> runs) : runs_(std::move(runs)) {}
    ~GuardedTimer() override { *runs_ = false; }
    std::unique_ptr<core::Timer> inner;

   private:
    std::shared_ptr<bool> runs_;
  };
  auto runs = std::make_shared<bool>(true);
  auto timer = std::make_unique<GuardedTimer>(runs);
  timer->inner = world_.After(delay, Guarded(life_, [runs, task = std::move(task)]() mutable {
                                if (*runs) std::move(task)();
                              }));
  return timer;
}

void Process::AtEndOfTurn(core::Task task) { world_.AtEndOfTurn(Guarded(life_, std::move(task))); }

void Process::Resume() {
  life_->paused = false;
  for (core::Task& task : std::exchange(life_->held_back, {})) Post(std::move(task));
}

}  // namespace lockkeeper::simulation
