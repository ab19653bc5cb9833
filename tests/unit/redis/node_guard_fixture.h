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

#include "redis/daemon_channels.h"
#include "redis/node_guard.h"
#include "redis/token_floor.h"
#include "support/fake_node/fake_node.h"
#include "support/fake_node/lua_scripts.h"
#include "support/fake_node/redis_model.h"
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
  void OnTrustChanged(const StoreTrust& trust) override { last = trust; }

  std::vector<std::string> told;
  StoreTrust last;
};

// What one daemon has to do with the store.
struct Guarded {
  Guarded(RedisModel& server, ManualClock& clock, ManualExecutor& executor,
          const std::string& service_id)
      : node(server, clock, executor),
        guard(node, clock, executor, floor, observer,
              {.marker_key = "lk:store",
               .call_lifetime = core::Millis(1'000),
               .policy = {.ceiling_max = std::chrono::minutes(2),
                          .new_service_id = service_id,
                          .new_reassertion_key = service_id + service_id},
               .new_store = {.record_pattern = "lk:{*", .channel_pattern = "lk:daemon:*"}}) {
    guard.SetListener([this] { ++changes; });
    node.Subscribe("lk:daemon:" + service_id, [this](std::string_view message) {
      guard.OnMarkerWritten(ReadMarkerMessage(message).value_or(""));
    });
  }

  FakeNode node;
  TokenFloor floor;
  RecordingObserver observer;
  NodeGuard guard;
  int changes = 0;
};

class NodeGuardTest : public testing::Test {
 protected:
  NodeGuardTest() { server_.LoadCompiledScripts(); }

  Guarded& Another() {
    const std::string digit(1, static_cast<char>('1' + daemons_.size()));
    std::string service_id;
    for (int i = 0; i < 16; ++i) service_id += digit;
    daemons_.push_back(std::make_unique<Guarded>(server_, clock_, executor_, service_id));
    return *daemons_.back();
  }

  // Asks until the guard permits, as the operation queue does.
  bool PermitsSoon(Guarded& daemon, core::Millis closes_for = {}) {
    return executor_.AdvanceUntil([&] { return daemon.guard.Permits(0, closes_for); },
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
