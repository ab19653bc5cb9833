// SPDX-License-Identifier: Apache-2.0
//
// What one daemon does about a loss must not hide another loss, or longer leases, from the others.
#include <chrono>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/guard/node_guard.h"
#include "support/fake_node/fake_node.h"
#include "unit/redis/guard/node_guard_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using support::InFlight;

using testing::AllOf;
using testing::Gt;
using testing::Lt;

class TwoLossesTest : public NodeGuardTest {
 protected:
  core::Micros StepsThatMarkerTells() { return ParseMarker(Marker())->marker.clock_offset; }

  // Both notice a step of the clock. One of them is first to say so.
  void NoticeAStep(Guarded& one, Guarded& two) {
    ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
    server_.clock().StepBy(500ms);
    one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
    two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  }
};

// Whoever wants a long lease from the daemon that noticed the loss must not make it look as if the
// quarantine had been made for such leases.
TEST_F(TwoLossesTest, CeilingIsNotRaisedForAGrantInAQuarantine) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  one.node.GoAway(InFlight::kLost);
  ASSERT_TRUE(PermitsSoon(two, 5s));
  two.node.GoAway(InFlight::kLost);
  Run({"FLUSHALL"});
  one.node.ComeBack();
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(one));
  ASSERT_EQ(ParseMarker(Marker())->marker.ttl_ceiling, 0s);
  const core::NodeTime lost = server_.clock().Now();

  executor_.AdvanceBy(800ms);
  EXPECT_TRUE(one.guard.Permits({0}, 5s, Granting::kAnew));
  EXPECT_GT(one.guard.Permit({}, 5s).grants_from, one.guard.Permit({}, 5s).latest)
      << "nothing is granted";
  EXPECT_LT(one.guard.Permit().grants_from, one.guard.Permit({}, 5s).grants_from);
  two.node.ComeBack();
  two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(two));

  EXPECT_GE(ParseMarker(Marker())->marker.quarantine_end.micros, lost.micros + 5'000'000);
}

TEST_F(TwoLossesTest, ProofOfALongerLeaseMakesTheQuarantineLonger) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  Run({"FLUSHALL"});
  daemon.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_FALSE(daemon.guard.Permits({0}, 5s));
  ASSERT_TRUE(PermitsSoon(daemon, 5s));

  const int64_t now = server_.clock().Now().micros;
  EXPECT_GE(ParseMarker(Marker())->marker.quarantine_end.micros, now + 5'000'000);
  EXPECT_LT(ParseMarker(Marker())->marker.quarantine_end.micros, now + 5'300'000);
}

TEST_F(TwoLossesTest, DaemonThatWasNotTheFirstToSayLooksAgainByItself) {
  Guarded& one = Another();
  Guarded& two = Another();
  NoticeAStep(one, two);

  executor_.AdvanceBy(100ms);

  EXPECT_EQ(one.guard.trust().epoch, 2);
  EXPECT_EQ(two.guard.trust().epoch, 2);
  EXPECT_TRUE(one.guard.Permits({0}, 0ms) && two.guard.Permits({0}, 0ms));
  EXPECT_THAT(StepsThatMarkerTells(), AllOf(Gt(499ms), Lt(501ms))) << "the same step";
}

TEST_F(TwoLossesTest, SecondStepBeforeTheFirstWasAgreedOnIsNoticed) {
  Guarded& one = Another();
  Guarded& two = Another();
  NoticeAStep(one, two);
  executor_.AdvanceBy(10ms);
  ASSERT_EQ(ParseMarker(Marker())->marker.epoch, 2);

  server_.clock().StepBy(1'400ms);
  executor_.AdvanceBy(100ms);

  EXPECT_EQ(ParseMarker(Marker())->marker.epoch, 3);
  EXPECT_GT(ParseMarker(Marker())->marker.quarantine_end.micros,
            server_.clock().Now().micros + 1'400'000);
  EXPECT_THAT(StepsThatMarkerTells(), AllOf(Gt(1'898ms), Lt(1'902ms)));
}

// The one that was away takes the step for drift, since it does not know the clock well any more.
TEST_F(TwoLossesTest, DaemonThatTookAStepForDriftFollowsWhoeverNoticesIt) {
  for (const core::Millis step : {104ms, -104ms}) {
    Guarded& one = Another();
    Guarded& two = Another();
    ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
    executor_.AdvanceBy(2s);
    const core::Micros before = StepsThatMarkerTells();
    two.node.GoAway(InFlight::kLost);
    Run({"FLUSHALL"});
    one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
    executor_.AdvanceBy(10s);
    ASSERT_TRUE(PermitsSoon(one));
    const int64_t epoch = ParseMarker(Marker())->marker.epoch;
    one.node.GoAway(InFlight::kLost);
    server_.clock().StepBy(step);
    two.node.ComeBack();
    ASSERT_TRUE(PermitsSoon(two));
    ASSERT_EQ(ParseMarker(Marker())->marker.epoch, epoch) << "taken for drift";

    one.node.ComeBack();
    one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
    executor_.AdvanceBy(3s);

    EXPECT_EQ(ParseMarker(Marker())->marker.epoch, epoch + 1) << "one step, one quarantine";
    EXPECT_THAT(StepsThatMarkerTells() - before, AllOf(Gt(step - 2ms), Lt(step + 2ms)));
    daemons_.clear();
  }
}

// The daemon that was away sees both steps and the marker of the first in one answer.
TEST_F(TwoLossesTest, SecondStepIsNoticedByADaemonThatSawNeither) {
  struct Steps {
    core::Millis first;
    core::Millis second;
  };
  for (const Steps steps : {Steps{-1h, 1h}, {1h, -1h}, {-500ms, 500ms}, {-1h, 500ms}, {1h, 2s}}) {
    Guarded& one = Another();
    Guarded& two = Another();
    ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
    executor_.AdvanceBy(2s);
    const core::Micros before = StepsThatMarkerTells();
    two.node.GoAway(InFlight::kLost);
    server_.clock().StepBy(steps.first);
    one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
    ASSERT_TRUE(PermitsSoon(one));
    one.node.GoAway(InFlight::kLost);
    const int64_t epoch = ParseMarker(Marker())->marker.epoch;
    executor_.AdvanceBy(400ms);
    server_.clock().StepBy(steps.second);
    two.node.ComeBack();

    two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
    ASSERT_TRUE(PermitsSoon(two));

    const StoreMarker marker = ParseMarker(Marker())->marker;
    EXPECT_EQ(marker.epoch, epoch + 1) << steps.second.count();
    EXPECT_GT(marker.quarantine_end.micros, server_.clock().Now().micros + 1'400'000);
    const core::Micros both = steps.first + steps.second;
    EXPECT_THAT(marker.clock_offset - before, AllOf(Gt(both - 10ms), Lt(both + 10ms)));
    one.node.ComeBack();
    executor_.AdvanceBy(5s);
    EXPECT_EQ(ParseMarker(Marker())->marker.epoch, epoch + 1) << "the other one agrees";
    daemons_.clear();
  }
}

// The epoch that tells of the step is gone before the daemon has made it its own: it found it by a
// beat.
TEST_F(TwoLossesTest, StepIsToldWhenTheMarkerThatToldItIsLost) {
  for (const bool is_emptied : {true, false}) {
    Guarded& one = Another();
    Guarded& two = Another();
    ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
    two.node.SetNetwork(
        [](const auto&) { return support::Delivery{.request_delay = 1ms, .reply_delay = 1ms}; });
    executor_.AdvanceBy(2s);
    const std::string older = Marker();
    const core::Micros before = StepsThatMarkerTells();
    server_.clock().StepBy(1h);
    two.node.Subscribe("another", [](std::string_view) {});  // No message tells it.
    one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
    ASSERT_TRUE(PermitsSoon(one));
    one.node.GoAway(InFlight::kLost);
    ASSERT_TRUE(executor_.AdvanceUntil([&two] { return !two.guard.Permits({0}, 0ms); }, 2s));
    Run({"FLUSHALL"});
    if (!is_emptied) Run({"SET", "lk:store", older});
    executor_.AdvanceBy(1'500ms);

    EXPECT_THAT(StepsThatMarkerTells() - before, AllOf(Gt(1h - 10ms), Lt(1h + 10ms)));
    EXPECT_GT(ParseMarker(Marker())->marker.epoch, ParseMarker(older)->marker.epoch);
    daemons_.clear();
  }
}

// One daemon has just called it a step, and the other one took it for drift.
TEST_F(TwoLossesTest, StepThatOneTakesForDriftIsOneLoss) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  executor_.AdvanceBy(2s);
  two.node.GoAway(InFlight::kLost);
  executor_.AdvanceBy(3s);
  server_.clock().StepBy(52ms);
  two.node.ComeBack();
  EXPECT_TRUE(two.guard.OnAnswered({0}, clock_.Now(), server_.clock().Now()));
  EXPECT_FALSE(one.guard.OnAnswered({0}, clock_.Now(), server_.clock().Now()));

  executor_.AdvanceBy(5s);

  EXPECT_EQ(one.guard.trust().epoch, 2);
  EXPECT_EQ(two.guard.trust().epoch, 2);
}

TEST_F(TwoLossesTest, SlowAnswerDoesNotHideTheSecondStep) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  executor_.AdvanceBy(2s);
  two.node.GoAway(InFlight::kLost);
  server_.clock().StepBy(-1h);
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(one));
  one.node.GoAway(InFlight::kLost);
  server_.clock().StepBy(-300ms);
  two.node.ComeBack();
  two.node.PlanNext({.request_delay = 400ms});
  two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(two));
  ASSERT_EQ(two.guard.trust().epoch, 2) << "the answer was as slow";

  executor_.AdvanceBy(2s);

  EXPECT_EQ(two.guard.trust().epoch, 3);
}

// The one that noticed it says wrongly how large it was, and is corrected once.
TEST_F(TwoLossesTest, DaemonThatMeasuredTheStepByASlowAnswerFollows) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  executor_.AdvanceBy(2s);
  server_.clock().StepBy(1h);
  one.node.PlanNext({.request_delay = 400ms});
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  two.node.GoAway(InFlight::kLost);
  ASSERT_TRUE(PermitsSoon(one));
  ASSERT_GT(StepsThatMarkerTells(), 1h + 100ms);
  two.node.ComeBack();

  executor_.AdvanceBy(5s);

  EXPECT_EQ(one.guard.trust().epoch, 3);
  EXPECT_EQ(two.guard.trust().epoch, 3);
  EXPECT_THAT(StepsThatMarkerTells(), AllOf(Gt(1h - 10ms), Lt(1h + 10ms)));
}

// Found by the simulator: it contradicted the other one, which it heard of too late.
TEST_F(TwoLossesTest, DaemonThatMeasuredTheStepByASlowAnswerFollowsThoughItHearsOfTheOtherLate) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  executor_.AdvanceBy(2s);
  server_.clock().StepBy(1h);
  one.node.PlanNext({.request_delay = 400ms});
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  two.node.GoAway(InFlight::kLost);
  ASSERT_TRUE(PermitsSoon(one));
  one.node.GoAway(InFlight::kLost);
  two.node.ComeBack();
  executor_.AdvanceBy(3s);
  ASSERT_EQ(two.guard.trust().epoch, 3);
  one.node.ComeBack();

  executor_.AdvanceBy(5s);

  EXPECT_EQ(one.guard.trust().epoch, 3);
  EXPECT_EQ(two.guard.trust().epoch, 3);
  EXPECT_THAT(StepsThatMarkerTells(), AllOf(Gt(1h - 10ms), Lt(1h + 10ms)));
}

// Another daemon would find the marker wrong, and one step would cost three quarantines.
TEST_F(TwoLossesTest, StepThatAQuickAnswerShowedIsNotMeasuredByTheSlowLookAfterIt) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  executor_.AdvanceBy(2s);
  server_.clock().StepBy(-4s);
  two.node.GoAway(InFlight::kLost);
  one.node.PlanNext({.request_delay = 222ms});
  EXPECT_FALSE(one.guard.OnAnswered({0}, clock_.Now() - 60ms, server_.clock().Now()));
  ASSERT_TRUE(PermitsSoon(one));
  two.node.ComeBack();

  executor_.AdvanceBy(5s);

  EXPECT_THAT(StepsThatMarkerTells(), AllOf(Gt(-4s - 40ms), Lt(-4s + 40ms)));
  EXPECT_EQ(one.guard.trust().epoch, 2);
  EXPECT_EQ(two.guard.trust().epoch, 2);
}

// It finds by the end of a quarantine that the clock was set back, and not by how much.
TEST_F(TwoLossesTest, DaemonThatKnewTheClockCorrectsOneThatDidNot) {
  Guarded& one = Another();
  ASSERT_TRUE(PermitsSoon(one, 5s));
  executor_.AdvanceBy(2s);
  Run({"FLUSHALL"});
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(one));
  one.node.GoAway(InFlight::kLost);
  server_.clock().StepBy(-1h);
  Guarded& new_one = Another();
  ASSERT_TRUE(PermitsSoon(new_one));
  ASSERT_EQ(new_one.guard.trust().epoch, 3);
  ASSERT_EQ(StepsThatMarkerTells(), 0s);

  one.node.ComeBack();
  executor_.AdvanceBy(5s);

  EXPECT_THAT(StepsThatMarkerTells(), AllOf(Gt(-1h - 10ms), Lt(-1h + 10ms)));
  EXPECT_EQ(one.guard.trust().epoch, 4);
  EXPECT_EQ(new_one.guard.trust().epoch, 4);
}

// The new one has known the store for so long that it contradicts, once.
TEST_F(TwoLossesTest, DaemonThatStartedAfterTheStepFollowsTheOneThatKnewTheClock) {
  Guarded& one = Another();
  ASSERT_TRUE(PermitsSoon(one));
  executor_.AdvanceBy(2s);
  one.node.GoAway(InFlight::kLost);
  server_.clock().StepBy(1h);
  Guarded& new_one = Another();
  ASSERT_TRUE(PermitsSoon(new_one));
  executor_.AdvanceBy(5s);

  one.node.ComeBack();
  executor_.AdvanceBy(1s);

  EXPECT_THAT(StepsThatMarkerTells(), AllOf(Gt(1h - 10ms), Lt(1h + 10ms)));
  const int64_t epoch = one.guard.trust().epoch;
  EXPECT_EQ(epoch, 4);
  executor_.AdvanceBy(10s);
  EXPECT_EQ(one.guard.trust().epoch, epoch);
  EXPECT_EQ(new_one.guard.trust().epoch, epoch);
  EXPECT_TRUE(one.guard.Permits({0}, 0ms) && new_one.guard.Permits({0}, 0ms));
}

TEST_F(TwoLossesTest, StepWhileTheFirstMarkerIsWrittenIsCountedOnce) {
  for (core::Micros later{0}; later < 5ms; later += 100us) {
    Run({"FLUSHALL"});
    Guarded& daemon = Another();
    EXPECT_FALSE(daemon.guard.Permits({0}, 0ms));
    executor_.AdvanceBy(later);
    server_.clock().StepBy(500ms);
    executor_.AdvanceBy(2s);
    const core::Micros told = StepsThatMarkerTells();
    if (ParseMarker(Marker())->marker.epoch == 1) {
      EXPECT_EQ(told, 0s) << later.count();
    } else {
      EXPECT_THAT(told, AllOf(Gt(490ms), Lt(510ms))) << later.count();
    }
    daemons_.clear();
  }
}

// At any time while the daemon looks at the marker and writes it anew.
TEST_F(TwoLossesTest, StepAfterAStepIsCountedOnce) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  for (core::Micros later{0}; later < 5ms; later += 100us) {
    const core::Micros before = StepsThatMarkerTells();
    server_.clock().StepBy(500ms);
    daemon.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
    executor_.AdvanceBy(later);
    server_.clock().StepBy(1'400ms);
    executor_.AdvanceBy(2'000ms);
    EXPECT_THAT(StepsThatMarkerTells() - before, AllOf(Gt(1'890ms), Lt(1'910ms))) << later.count();
  }
}

}  // namespace
}  // namespace lockkeeper::redis
