// SPDX-License-Identifier: Apache-2.0
//
// The thread of one simulated process: it can stand still, and it can be gone. Everything that a
// process does comes through here, so that nothing of it happens while it is paused, and nothing
// after it was killed.
#pragma once

#include <memory>
#include <vector>

#include "core/executor.h"

namespace lockkeeper::simulation {

// Thread-safety: not thread-safe. Lifetime: borrows the executor; tasks may outlive this.
class Process final : public core::Executor {
 public:
  explicit Process(core::Executor& world) : world_(world) {}
  ~Process() override { Kill(); }

  void Post(core::Task task) override;
  [[nodiscard]] std::unique_ptr<core::Timer> After(core::Micros delay, core::Task task) override;
  void AtEndOfTurn(core::Task task) override;

  void Pause() { life_->paused = true; }
  void Resume();
  void Kill() { life_->dead = true; }
  bool dead() const { return life_->dead; }

 private:
  struct Life {
    bool paused = false;
    bool dead = false;
    std::vector<core::Task> held_back;
  };

  static core::Task Guarded(std::shared_ptr<Life> life, core::Task task);

  core::Executor& world_;
  std::shared_ptr<Life> life_ = std::make_shared<Life>();
};

}  // namespace lockkeeper::simulation
