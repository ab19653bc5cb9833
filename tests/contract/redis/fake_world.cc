// SPDX-License-Identifier: Apache-2.0
#include "contract/redis/fake_world.h"

#include "support/fake_node/fake_node.h"
#include "support/manual_executor.h"

namespace lockkeeper::support {
namespace {

class FakeWorld final : public RedisWorld {
 public:
  explicit FakeWorld(Guarding guarding) : guarding_(guarding) {}

  Daemon& daemon(size_t index) override {
    while (daemons_.size() <= index) {
      nodes_.push_back(std::make_unique<FakeNode>(server_, clock_, executor_));
      daemons_.push_back(std::make_unique<Daemon>(*nodes_.back(), clock_, executor_,
                                                  core::Hex16(kFirstDaemon + daemons_.size()),
                                                  guarding_));
    }
    return *daemons_[index];
  }

  void OnLoop(absl::FunctionRef<void()> task) override { task(); }

  bool Await(absl::FunctionRef<bool()> answered) override {
    return executor_.AdvanceUntil(answered, std::chrono::minutes(1));
  }

  const core::Clock& clock() override { return clock_; }
  core::Executor& executor() override { return executor_; }
  core::NodeTime NodeNow() override { return server_.clock().Now(); }
  void StepNodeClock(core::Micros step) override { server_.clock().StepBy(step); }
  void LetTimePass(core::Micros time) override { executor_.AdvanceBy(time); }
  void BetweenCalls(absl::FunctionRef<void()> task) override { task(); }

  redis::Reply Run(const std::vector<std::string_view>& words) override {
    return server_.Execute(words);
  }

 private:
  const Guarding guarding_;
  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LuaScripts lua_;
  RedisModel server_{lua_, clock_};
  std::vector<std::unique_ptr<FakeNode>> nodes_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

}  // namespace

std::unique_ptr<StoreWorld> MakeFakeWorld(Guarding guarding) {
  return std::make_unique<FakeWorld>(guarding);
}

}  // namespace lockkeeper::support
