// SPDX-License-Identifier: Apache-2.0
//
// The server changes while the guard is busy with its marker.
#include <chrono>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/guard/node_guard.h"
#include "unit/redis/guard/node_guard_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class NodeGuardChangeTest : public NodeGuardTest {
 protected:
  // Until the daemon has sent so many requests more.
  void AwaitRequests(const Guarded& daemon, uint64_t more) {
    const uint64_t wanted = daemon.node.requests() + more;
    ASSERT_TRUE(executor_.AdvanceUntil([&] { return daemon.node.requests() >= wanted; }, 1s));
  }
};

TEST_F(NodeGuardChangeTest, KeysEvictedWhileTheCeilingIsRaisedAreALoss) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_FALSE(daemon.guard.Permits({0}, 5s));
  server_.life().evicted_keys = 1;
  ASSERT_TRUE(PermitsSoon(daemon, 5s));

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "evicted 2"));
}

TEST_F(NodeGuardChangeTest, KeysEvictedAfterARestartWasJudgedAreALoss) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  server_.Restart();
  server_.LoadCompiledScripts();

  EXPECT_FALSE(daemon.guard.Permits({0}, 0ms));
  AwaitRequests(daemon, 1);  // The look is answered; what it found is being written.
  server_.life().evicted_keys = 1;
  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "evicted 2"));
}

// The end of the quarantine that is being written was worked out by the clock as it was.
TEST_F(NodeGuardChangeTest, ClockSetWhileALossIsBeingWrittenIsALoss) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  server_.life().evicted_keys = 1;

  EXPECT_FALSE(daemon.guard.Permits({0}, 0ms));
  AwaitRequests(daemon, 1);
  server_.clock().StepBy(1'000ms);
  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "clock_step 3"));
}

TEST_F(NodeGuardChangeTest, KeysEvictedBeforeARestartWasNoticedAreALoss) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  server_.Restart();
  server_.life().evicted_keys = 1;

  EXPECT_FALSE(one.guard.Permits({0}, 0ms));
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  executor_.AdvanceBy(3s);

  EXPECT_EQ(one.guard.trust().epoch, 2);
  EXPECT_EQ(two.guard.trust().epoch, 2) << "one loss for all daemons";
  EXPECT_GT(one.guard.Permit().grants_from.micros, 0);
}

// A look that a message led to holds nothing back until it finds something.
// For a moment the Sentinels named one that had become a replica.
TEST_F(NodeGuardChangeTest, ProblemOfAServerThatWasLeftAgainIsForgotten) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  const std::string known = std::exchange(server_.life().run_id, std::string(40, 'f'));
  server_.RefuseWrites("READONLY You can't write against a read only replica.");
  EXPECT_FALSE(daemon.guard.Permits({0}, 0ms));
  executor_.AdvanceBy(50ms);
  EXPECT_THAT(daemon.observer.last.problem, HasSubstr("READONLY"));

  server_.life().run_id = known;
  server_.RefuseWrites("");
  executor_.AdvanceBy(2s);

  EXPECT_EQ(daemon.observer.last.problem, "");
  EXPECT_THAT(daemon.observer.told, ElementsAre("first use"));
}

TEST_F(NodeGuardChangeTest, NothingIsPermittedWhileALossThatAMessageLedToIsWritten) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon, 1s));
  daemon.guard.OnMarkerWritten("the stamp of before");
  server_.clock().StepBy(500ms);
  EXPECT_TRUE(daemon.guard.Permits({1}, 1s));

  AwaitRequests(daemon, 1);  // The look is answered; what it found is being written.

  EXPECT_FALSE(daemon.guard.Permits({1}, 1s));
  ASSERT_TRUE(PermitsSoon(daemon, 1s));
  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "clock_step 2"));
}

}  // namespace
}  // namespace lockkeeper::redis
