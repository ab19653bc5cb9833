// SPDX-License-Identifier: Apache-2.0
#include "simulation/process.h"

#include <utility>

namespace lockkeeper::simulation {

void Process::Life::Run(core::Task task) {
  if (dead || paused) {
    held_back.push_back(std::move(task));
  } else {
    std::move(task)();
  }
}

void Process::Life::RunFirst(Tasks& tasks) {
  core::Task task = std::move(tasks.front());
  tasks.pop_front();
  Run(std::move(task));
}

// A task that waits for its time.
struct Process::Timed {
  std::shared_ptr<Life> life;  // Until then.
  core::Task task;
  bool stopped = false;
};

// A timer that is destroyed while its task is held back must not run it.
class Process::GuardedTimer final : public core::Timer {
 public:
  GuardedTimer(std::shared_ptr<Timed> timed, std::unique_ptr<core::Timer> inner)
      : timed_(std::move(timed)), inner_(std::move(inner)) {}
  ~GuardedTimer() override { timed_->stopped = true; }

 private:
  std::shared_ptr<Timed> timed_;
  std::unique_ptr<core::Timer> inner_;
};

void Process::Post(core::Task task) {
  life_->posted.push_back(std::move(task));
  world_.Post([life = life_] { life->RunFirst(life->posted); });
}

void Process::AtEndOfTurn(core::Task task) {
  life_->end_of_turn.push_back(std::move(task));
  world_.AtEndOfTurn([life = life_] { life->RunFirst(life->end_of_turn); });
}

std::unique_ptr<core::Timer> Process::After(core::Micros delay, core::Task task) {
  auto timed = std::make_shared<Timed>(Timed{life_, std::move(task)});
  auto inner = world_.After(delay, [timed] {
    const std::shared_ptr<Life> life = std::move(timed->life);
    life->Run([timed] {
      if (!timed->stopped) std::exchange(timed->task, nullptr)();
    });
  });
  return std::make_unique<GuardedTimer>(std::move(timed), std::move(inner));
}

void Process::Later(core::Micros delay, core::Task task) {
  auto timed = std::make_shared<Timed>(Timed{life_, std::move(task)});
  world_.Later(delay, [timed = std::move(timed)] { timed->life->Run(std::move(timed->task)); });
}

void Process::Resume() {
  life_->paused = false;
  for (core::Task& task : std::exchange(life_->held_back, {})) Post(std::move(task));
}

}  // namespace lockkeeper::simulation
