// SPDX-License-Identifier: Apache-2.0
//
// Daemons with guards on one in-process server, for tests of what a guard does.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/format/key_layout.h"
#include "redis/guard/node_guard.h"
#include "redis/node/daemon_channels.h"
#include "support/fake_node/fake_node.h"
#include "support/fake_node/lua_scripts.h"
#include "support/fake_node/redis_model.h"
#include "support/guard_options.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"

namespace lockkeeper::redis {

using support::FakeNode;
using support::LuaScripts;
using support::ManualClock;
using support::ManualExecutor;
using support::RedisModel;

class RecordingObserver final : public GuardObserver {
 public:
  void OnFirstUse(const StoreTrust&) override { told.emplace_back("first use"); }
  void OnLoss(LossKind kind, const StoreTrust& trust) override {
    told.push_back(std::string(NameOf(kind)) + " " + std::to_string(trust.epoch));
  }
  void OnNewEpoch(const StoreTrust& trust) override {
    told.push_back("epoch " + std::to_string(trust.epoch));
  }
  void OnTrustChanged(const StoreTrust& trust) override {
    last = trust;
    waiting.push_back(trust.waiting);
  }

  std::vector<std::string> told;
  std::vector<std::string> waiting;
  StoreTrust last;
};

// What one daemon has to do with the store: it listens to its channel, and guards it.
struct Guarded {
  Guarded(RedisModel& server, ManualClock& clock, ManualExecutor& executor,
          const NodeGuardOptions& options, const FakeNode::Options& network = {})
      : node(server, clock, executor, network), guard(node, clock, executor, observer, options) {
    guard.SetListener([this] { ++changes; });
    node.Subscribe(ChannelOf(options), [this](std::string_view message) {
      guard.OnMarkerWritten(ReadMarkerMessage(message).value_or(""));
    });
  }

  static std::string ChannelOf(const NodeGuardOptions& options) {
    return KeyLayout("lk:").ChannelPrefix() + options.policy.new_service_id;
  }

  FakeNode node;
  RecordingObserver observer;
  NodeGuard guard;
  int changes = 0;
};

class NodeGuardTest : public testing::Test {
 protected:
  NodeGuardTest() { server_.LoadCompiledScripts(); }

  Guarded& Another(const FakeNode::Options& network = {}) {
    const std::string id(16, static_cast<char>('1' + daemons_.size()));
    NodeGuardOptions options = support::GuardOptionsOf(id);
    options.call_lifetime = std::chrono::seconds(1);
    daemons_.push_back(std::make_unique<Guarded>(server_, clock_, executor_, options, network));
    return *daemons_.back();
  }

  // Asks until the guard permits, as the operation queue does.
  bool PermitsSoon(Guarded& daemon, core::Millis closes_for = {}) {
    return executor_.AdvanceUntil([&] { return daemon.guard.Permits({0}, closes_for); },
                                  std::chrono::seconds(1));
  }

  redis::Reply Run(const std::vector<std::string_view>& words) { return server_.Execute(words); }

  std::string Marker() { return Run({"GET", "lk:store"}).text; }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LuaScripts lua_;
  RedisModel server_{lua_, clock_};
  std::vector<std::unique_ptr<Guarded>> daemons_;
};

}  // namespace lockkeeper::redis
