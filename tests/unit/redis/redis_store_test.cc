// SPDX-License-Identifier: Apache-2.0
// Who hears what comes on the daemon's channel.
#include "redis/redis_store.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/fake_node/fake_node.h"
#include "support/fake_node/lua_scripts.h"
#include "support/guard_options.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"
#include "support/silent_guard_observer.h"

namespace lockkeeper::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kDaemonId(16, '1');
const std::string kLeaseId(32, 'a');

class RecordingListener final : public core::LineListener {
 public:
  void OnOffer(const core::Offer& offer) override { heard.push_back("offer of " + offer.name); }
  void OnWaiterReleased(const std::string& name, const core::LeaseId&) override {
    heard.push_back("release of " + name);
  }

  std::vector<std::string> heard;
};

class RedisStoreTest : public testing::Test {
 protected:
  RedisStoreTest() {
    server_.LoadCompiledScripts();
    store_.line().Listen(listener_);
    executor_.AdvanceBy(std::chrono::milliseconds(500));  // Until the guard knows the store.
  }

  void Publish(const std::string& message) {
    const std::string channel = "lk:daemon:" + kDaemonId;
    server_.Execute(std::vector<std::string_view>{"PUBLISH", channel, message});
    executor_.RunUntilIdle();
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  support::LuaScripts lua_;
  support::RedisModel server_{lua_, clock_};
  support::FakeNode node_{server_, clock_, executor_};
  support::SilentGuardObserver observer_;
  RecordingListener listener_;
  RedisStore store_{node_, clock_, executor_, observer_, support::StoreOptionsOf(kDaemonId)};
};

TEST_F(RedisStoreTest, NewsOfTheMarkerMakesTheGuardLook) {
  const uint64_t before = node_.requests();

  Publish("Manother stamp");

  EXPECT_EQ(node_.requests(), before + 1);
  EXPECT_THAT(listener_.heard, IsEmpty());
}

TEST_F(RedisStoreTest, NewsOfWaitersGoToTheLine) {
  const uint64_t before = node_.requests();

  Publish("O" + kLeaseId + " 5 1000000 30000 F 1 " + std::string(32, '2') + " lk:{a}");
  Publish("R" + kLeaseId + " 1 lk:{b}");

  EXPECT_THAT(listener_.heard, ElementsAre("offer of a", "release of b"));
  EXPECT_EQ(node_.requests(), before) << "nothing for the guard";
}

TEST_F(RedisStoreTest, WhatNobodyOfOursWritesIsIgnored) {
  const uint64_t before = node_.requests();

  for (const char* const message : {"", "O", "R x", "hello", "O 1 2 3 4 5 6 lk:{a}"}) {
    Publish(message);
  }

  EXPECT_THAT(listener_.heard, IsEmpty());
  EXPECT_EQ(node_.requests(), before);
}

}  // namespace
}  // namespace lockkeeper::redis
