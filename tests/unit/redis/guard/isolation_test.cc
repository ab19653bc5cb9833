// SPDX-License-Identifier: Apache-2.0
//
// How long a guard waits for a server that may have gone on after another one took its place.
// Behind Sentinels and for each part of a Cluster it is the same guard.
#include <gtest/gtest.h>

#include <chrono>

#include "redis/guard/node_guard.h"
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

}  // namespace
}  // namespace lockkeeper::redis
