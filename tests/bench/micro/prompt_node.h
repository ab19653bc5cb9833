// SPDX-License-Identifier: Apache-2.0
//
// A node that keeps nothing but its marker: every lock is granted, every lease extended and
// released. So what is measured is the daemon's own work.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "redis/node/node.h"

namespace lockkeeper::bench {

// Thread-safety: not thread-safe.
class PromptNode final : public redis::Node {
 public:
  redis::Route RouteOf(std::string_view) const override { return {}; }
  redis::Route AnyRoute() const override { return {}; }
  void Run(redis::Route route, const redis::ScriptSource& script, redis::Command command,
           redis::ReplyDone done) override;
  void Send(redis::Route route, redis::Command command, redis::ReplyDone done) override;
  void Subscribe(const std::string&, redis::MessageListener) override {}
  const redis::NodeLife& life(redis::Route) const override { return life_; }
  const std::string& setting_problem() const override { return setting_problem_; }
  core::Assurance assurance() const override { return core::Assurance::kMemory; }
  bool MayConfirm(core::Assurance wanted) const override { return wanted <= assurance(); }
  void Confirm(redis::Route, core::Assurance, core::Instant, redis::ConfirmDone) override {}

  // Answers the calls that have come. False if there are none.
  bool AnswerAll();

 private:
  using Call = absl::AnyInvocable<void() &&>;

  std::vector<Call> calls_;  // That are still to be answered.
  redis::NodeLife life_{.run_id = std::string(40, '0'), .durable = true};
  std::string setting_problem_;
  int64_t clock_micros_ = 1'800'000'000'000'000;
};

}  // namespace lockkeeper::bench
