// SPDX-License-Identifier: Apache-2.0
#include "contract/memory_world.h"

#include <chrono>

#include "support/manual_executor.h"
#include "support/memory_store.h"

namespace lockkeeper::support {
namespace {

class MemoryWorld final : public StoreWorld {
 public:
  Ports ports(size_t daemon) override {
    while (stores_.size() <= daemon) {
      stores_.push_back(std::make_unique<MemoryStore>(server_, executor_));
    }
    return {*stores_[daemon], *stores_[daemon], nullptr};
  }

  void OnLoop(absl::FunctionRef<void()> task) override { task(); }

  bool Await(absl::FunctionRef<bool()> answered) override {
    return executor_.AdvanceUntil(answered, std::chrono::minutes(1));
  }

  const core::Clock& clock() override { return clock_; }
  core::Executor& executor() override { return executor_; }
  core::NodeTime NodeNow() override { return server_.Now(); }
  void StepNodeClock(core::Micros step) override { server_.StepBy(step); }
  bool IsKept(const std::string& name) override { return server_.Find(name) != nullptr; }
  std::string RecordOf(const std::string& name) override { return server_.Describe(name); }
  void ForgetEverything() override { server_.ForgetEverything(); }

 private:
  ManualClock clock_;
  ManualExecutor executor_{clock_};
  MemoryServer server_{clock_, kRetention};
  std::vector<std::unique_ptr<MemoryStore>> stores_;
};

}  // namespace

std::unique_ptr<StoreWorld> MakeMemoryWorld() { return std::make_unique<MemoryWorld>(); }

}  // namespace lockkeeper::support
