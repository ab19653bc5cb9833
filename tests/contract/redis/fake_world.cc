// SPDX-License-Identifier: Apache-2.0
#include "contract/redis/fake_world.h"

#include "contract/redis/model_world.h"

namespace lockkeeper::support {
namespace {

class FakeWorld final : public ModelWorld<RedisWorld> {
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

  void LetTimePass(core::Micros time) override { executor_.AdvanceBy(time); }
  void BetweenCalls(absl::FunctionRef<void()> task) override { task(); }

  redis::Reply Run(const std::vector<std::string_view>& words) override {
    return server_.Execute(words);
  }

 private:
  const Guarding guarding_;
  std::vector<std::unique_ptr<FakeNode>> nodes_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

}  // namespace

std::unique_ptr<StoreWorld> MakeFakeWorld(Guarding guarding) {
  return std::make_unique<FakeWorld>(guarding);
}

}  // namespace lockkeeper::support
