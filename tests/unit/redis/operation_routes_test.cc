// SPDX-License-Identifier: Apache-2.0
// What a store of several servers needs of the operation queue: a script call has keys of one route
// only, and the marker that the guard names for that route.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/operation_queue.h"
#include "redis/scripts.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"
#include "support/trusting_guard.h"

namespace lockkeeper::redis {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr size_t kWordsBeforeKeys = 3;

// The parts of a name before and after its first dot: "2.a" goes to route 2.
class TwoServers final : public Node {
 public:
  Route RouteOf(std::string_view record_key) const override {
    const size_t dot = record_key.find('.');
    return {.connection = static_cast<size_t>(record_key.at(dot - 1) - '0')};
  }
  Route AnyRoute() const override { return {}; }
  void Run(Route route, const ScriptSource&, Command command, ReplyDone done) override {
    const std::vector<std::string_view> words = command.Words();
    const size_t count = std::stoul(std::string(words[2]));
    std::vector<std::string> keys;
    keys.reserve(count);
    for (size_t i = 0; i < count; ++i) keys.emplace_back(words[kWordsBeforeKeys + i]);
    calls.emplace_back(route.connection, std::move(keys));
    unanswered_.push_back(std::move(done));
  }
  // To the oldest call that has no answer.
  void Answer(Reply reply) {
    ReplyDone done = std::move(unanswered_.front());
    unanswered_.erase(unanswered_.begin());
    std::move(done)(std::move(reply));
  }
  void Send(Route, Command, ReplyDone) override {}
  void Subscribe(const std::string&, MessageListener) override {}
  const NodeLife& life(Route) const override { return life_; }
  const std::string& setting_problem() const override { return none_; }
  core::Assurance assurance() const override { return core::Assurance::kMemory; }
  bool MayConfirm(core::Assurance wanted) const override { return wanted <= assurance(); }
  void Confirm(Route, core::Assurance, core::Instant, ConfirmDone) override {}

  std::vector<std::pair<size_t, std::vector<std::string>>> calls;  // Route and keys.

 private:
  std::vector<ReplyDone> unanswered_;
  const NodeLife life_{.run_id = std::string(40, '0')};
  const std::string none_;
};

// Each route has a marker of its own, and may be held back alone.
class MarkerOfEachRoute final : public support::TrustingGuard {
 public:
  bool Permits(Route route, core::Millis, Granting) override { return route != held_back; }
  CallPermit Permit(Route route, core::Millis closes_for) const override {
    CallPermit permit = TrustingGuard::Permit(route, closes_for);
    permit.marker_key = markers_.at(route.connection);
    return permit;
  }
  void SetListener(std::function<void()> listener) override { on_change = std::move(listener); }

  Route held_back{.connection = 99};
  std::function<void()> on_change;

 private:
  const std::vector<std::string> markers_{"", "marker of 1", "marker of 2"};
};

class OperationRoutesTest : public testing::Test {
 protected:
  void Submit(const std::string& name, core::Instant deadline = core::Instant::max()) {
    queue_.Submit({.script = &kFenceScript,
                   .lock_name = name,
                   .arguments = CommandPart({"5", "0"}),
                   .reply_width = 2,
                   .deadline = deadline,
                   .done = [this](const absl::StatusOr<OperationReply>& reply) {
                     ended.push_back(reply.status());
                   }});
  }

  static Reply Error(std::string text) {
    Reply reply;
    reply.type = Reply::Type::kError;
    reply.text = std::move(text);
    return reply;
  }

  std::vector<absl::Status> ended;
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  TwoServers node_;
  MarkerOfEachRoute guard_;
  OperationQueue queue_{node_, guard_, clock_, executor_, {}};
};

TEST_F(OperationRoutesTest, CallHasKeysOfOneRouteAndItsMarker) {
  for (const std::string name : {"1.a", "2.a", "1.b", "2.b"}) Submit(name);
  executor_.RunUntilIdle();

  EXPECT_THAT(node_.calls,
              UnorderedElementsAre(Pair(1, ElementsAre("lk:{1.a}", "lk:{1.b}", "marker of 1")),
                                   Pair(2, ElementsAre("lk:{2.a}", "lk:{2.b}", "marker of 2"))));
}

TEST_F(OperationRoutesTest, RouteThatIsHeldBackHoldsNoOtherBack) {
  guard_.held_back = {.connection = 2};
  for (const std::string name : {"2.a", "1.a"}) Submit(name);
  executor_.RunUntilIdle();
  EXPECT_THAT(node_.calls, ElementsAre(Pair(1, ElementsAre("lk:{1.a}", "marker of 1"))));

  guard_.held_back = {.connection = 99};
  guard_.on_change();
  executor_.RunUntilIdle();

  ASSERT_EQ(node_.calls.size(), 2U);
  EXPECT_THAT(node_.calls[1], Pair(2, ElementsAre("lk:{2.a}", "marker of 2")));
}

// A Cluster moves their keys to another server: nothing was executed.
TEST_F(OperationRoutesTest, CallWhoseKeysAreBeingMovedIsSentAgainInItsOrder) {
  for (const std::string refusal :
       {"MOVED 7 127.0.0.1:7001", "ASK 7 127.0.0.1:7001", "TRYAGAIN Multiple keys request"}) {
    const size_t before = node_.calls.size();
    for (const std::string name : {"1.a", "1.b"}) Submit(name);
    executor_.RunUntilIdle();
    Submit("1.a");
    node_.Answer(Error(refusal));
    executor_.RunUntilIdle();
    EXPECT_EQ(node_.calls.size(), before + 1) << "not at once: " << refusal;

    executor_.AdvanceBy(std::chrono::milliseconds(10));
    ASSERT_EQ(node_.calls.size(), before + 2) << refusal;
    EXPECT_THAT(node_.calls.back(),
                Pair(1, UnorderedElementsAre("lk:{1.a}", "lk:{1.a}", "lk:{1.b}", "marker of 1")));
    EXPECT_TRUE(ended.empty());
    node_.Answer(Error("OOM"));
    executor_.RunUntilIdle();
    EXPECT_EQ(std::exchange(ended, {}).size(), 3U);
  }
}

TEST_F(OperationRoutesTest, OperationWhoseKeysStayOnTheirWayEndsAtItsDeadline) {
  Submit("1.a", clock_.Now() + std::chrono::milliseconds(15));
  executor_.RunUntilIdle();
  node_.Answer(Error("TRYAGAIN"));
  executor_.AdvanceBy(std::chrono::milliseconds(10));
  ASSERT_EQ(node_.calls.size(), 2U);
  node_.Answer(Error("TRYAGAIN"));
  executor_.AdvanceBy(std::chrono::milliseconds(100));

  EXPECT_EQ(node_.calls.size(), 2U);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(core::ReasonOf(ended.front()), core::ErrorReason::kStoreUnavailable)
      << "it was not executed: " << ended.front();
}

}  // namespace
}  // namespace lockkeeper::redis
