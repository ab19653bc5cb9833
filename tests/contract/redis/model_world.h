// SPDX-License-Identifier: Apache-2.0
//
// What the worlds on the in-process server share: one server and one virtual time.
#pragma once

#include <chrono>

#include "support/fake_node/fake_node.h"
#include "support/manual_executor.h"

namespace lockkeeper::support {

// World: StoreWorld, or one that is derived of it.
template <typename World>
class ModelWorld : public World {
 public:
  void OnLoop(absl::FunctionRef<void()> task) override { task(); }

  bool Await(absl::FunctionRef<bool()> answered) override {
    return executor_.AdvanceUntil(answered, std::chrono::minutes(1));
  }

  const core::Clock& clock() override { return clock_; }
  core::Executor& executor() override { return executor_; }
  core::NodeTime NodeNow() override { return server_.clock().Now(); }
  void StepNodeClock(core::Micros step) override { server_.clock().StepBy(step); }

 protected:
  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LuaScripts lua_;
  RedisModel server_{lua_, clock_};
};

}  // namespace lockkeeper::support
