// SPDX-License-Identifier: Apache-2.0
//
// How long a guard waits for a server that may have gone on after another one took its place.
// Behind Sentinels and for each part of a Cluster it is the same guard.
#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <variant>

#include "core/errors.h"
#include "redis/guard/node_guard.h"
#include "unit/redis/guard/guarded_store_fixture.h"
#include "unit/redis/guard/node_guard_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;

class IsolationTest : public NodeGuardTest {
 protected:
  // Another server takes the place of the one before, with `isolation`. Answers how long nothing
  // new is granted.
  core::Micros QuarantineAfterAnother(Guarded& daemon, core::Millis isolation) {
    server_.Restart();
    daemon.node.SeeAsVolatile();  // It may have lost something.
    daemon.node.SeeIsolation(isolation);
    const core::NodeTime now = server_.clock().Now();
    daemon.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
    EXPECT_TRUE(PermitsSoon(daemon));
    return core::Micros(ParseMarker(Marker())->marker.quarantine_end.micros - now.micros);
  }
};

// Goal: that of the server before counts, which may have had another setting.
TEST_F(IsolationTest, QuarantineOutlastsTheLongestOneOfAllServersThatWereSeen) {
  Guarded& daemon = Another();
  daemon.node.SeeIsolation(9s);
  ASSERT_TRUE(PermitsSoon(daemon, 5s));

  const core::Micros quarantine = QuarantineAfterAnother(daemon, 1s);

  EXPECT_GE(quarantine, QuarantineOf(5s) + 9s);
  EXPECT_LT(quarantine, QuarantineOf(5s) + 10s);
}

TEST_F(IsolationTest, SettingThatIsChangedWhileTheServerRunsCounts) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon, 5s));
  executor_.AdvanceBy(2s);  // Nothing is on its way any more that would make it look.
  daemon.node.SeeIsolation(9s);
  executor_.AdvanceBy(2s);  // It beats once a second.

  EXPECT_GE(QuarantineAfterAnother(daemon, 1s), QuarantineOf(5s) + 9s);
}

TEST_F(IsolationTest, LaterServerWithALongerOneCounts) {
  Guarded& daemon = Another();
  daemon.node.SeeIsolation(1s);
  ASSERT_TRUE(PermitsSoon(daemon, 5s));

  EXPECT_GE(QuarantineAfterAnother(daemon, 9s), QuarantineOf(5s) + 9s);
}

class IsolatedHolderTest : public GuardedStoreTest {
 protected:
  static constexpr core::Millis kIsolation = 6s;

  IsolatedHolderTest() { daemon_.node.SeeIsolation(kIsolation); }

  core::Lease Grant(core::Millis ttl) {
    ttl_ = ttl;
    return std::get<core::Lease>(*Acquire(1));
  }

  void MoveToAnotherServer() {
    server_.Restart();
    server_.LoadCompiledScripts();
    daemon_.node.SeeAsVolatile();  // It may have lost something.
  }

  core::Micros QuarantineLeft() { return daemon_.guard.trust().quarantine_left; }
};

// The server before may give the lock to somebody else when the lease ends there.
TEST_F(IsolatedHolderTest, LeaseThatEndsWhileTheServerBeforeMayGrantIsNotTakenBack) {
  const core::Lease lease = Grant(5s);
  MoveToAnotherServer();
  EXPECT_EQ(core::ReasonOf(TakeBack(lease).status()), core::ErrorReason::kStoreQuarantined);
  executor_.AdvanceBy(kIsolation);
  EXPECT_EQ(core::ReasonOf(TakeBack(lease).status()), core::ErrorReason::kLeaseLost);
}

// A session that ends there may release it, too.
TEST_F(IsolatedHolderTest, LeaseThatEndsLaterIsTakenBackOnceTheServerBeforeGrantsNoMore) {
  const core::Lease lease = Grant(8s);
  MoveToAnotherServer();
  EXPECT_EQ(core::ReasonOf(TakeBack(lease).status()), core::ErrorReason::kStoreQuarantined);
  executor_.AdvanceBy(kIsolation);
  EXPECT_TRUE(TakeBack(lease).ok());
}

TEST_F(IsolatedHolderTest, NobodyGoesOnBesideAServerThatForgetsWhileItRuns) {
  const core::Lease lease = Grant(5s);
  server_.Flush();
  server_.LoadCompiledScripts();
  EXPECT_TRUE(TakeBack(lease).ok());
  EXPECT_LT(QuarantineLeft(), QuarantineOf(5s) + 1s);
}

TEST_F(IsolatedHolderTest, ServerThatForgetsRightAfterItWasPromotedIsNotAlone) {
  Grant(20s);
  MoveToAnotherServer();
  EXPECT_FALSE(Acquire(2).ok());
  executor_.AdvanceBy(kIsolation / 2);
  server_.Flush();
  server_.LoadCompiledScripts();
  EXPECT_FALSE(Acquire(2).ok());
  EXPECT_GT(QuarantineLeft(), QuarantineOf(20s) + kIsolation - 1s);

  executor_.AdvanceBy(kIsolation);
  server_.Flush();
  server_.LoadCompiledScripts();
  EXPECT_FALSE(Acquire(2).ok());
  EXPECT_LT(QuarantineLeft(), QuarantineOf(20s) + 1s) << "it has outlasted the one before";
}

}  // namespace
}  // namespace lockkeeper::redis
