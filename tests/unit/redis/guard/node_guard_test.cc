// SPDX-License-Identifier: Apache-2.0
//
// The guard of one daemon, or of two, over the in-process node.
#include "redis/guard/node_guard.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/fake_node/fake_node.h"
#include "unit/redis/guard/node_guard_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using support::InFlight;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST_F(NodeGuardTest, ErrorThatABeatWasAnsweredWithLastsNoLongerThanItsCause) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  // A script that is forgotten whenever it has been loaded cannot be run.
  daemon.node.SetNetwork([](support::Words words) {
    return support::Delivery{.request_delay = words.front() == "EVALSHA" ? 1ms : 0ms};
  });
  const auto forget_and_look = [&] {
    Run({"SCRIPT", "FLUSH"});
    return !daemon.observer.last.problem.empty();
  };
  ASSERT_TRUE(executor_.AdvanceUntil(forget_and_look, 5s));
  EXPECT_THAT(daemon.observer.last.problem, HasSubstr("NOSCRIPT"));
  EXPECT_THAT(daemon.guard.HeldBackBecause(), HasSubstr("NOSCRIPT"));

  executor_.AdvanceBy(2s);

  EXPECT_EQ(daemon.observer.last.problem, "");
  EXPECT_EQ(daemon.guard.HeldBackBecause(), "");
  EXPECT_TRUE(daemon.guard.Permits({0}, 0ms));
  EXPECT_EQ(daemon.guard.Permit().grants_from.micros, 0);
}

TEST_F(NodeGuardTest, NothingIsPermittedBeforeTheStoreHasBeenLookedAt) {
  Guarded& daemon = Another();
  EXPECT_FALSE(daemon.guard.Permits({0}, 0ms));
  EXPECT_EQ(daemon.guard.Permit().marker, "unknown") << "that no marker begins with";

  executor_.RunUntilIdle();

  EXPECT_EQ(daemon.changes, 1);
  EXPECT_TRUE(daemon.guard.Permits({0}, 0ms));
  EXPECT_THAT(daemon.observer.told, ElementsAre("first use"));
  EXPECT_THAT(Marker(), StartsWith(daemon.guard.stamp()));
  EXPECT_EQ(daemon.guard.Permit().epoch, "0000000001");
  EXPECT_EQ(daemon.guard.Permit().grants_from.micros, 0);
}

TEST_F(NodeGuardTest, PermitSaysWhatTheNodesClockMayRead) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  const CallPermit permit = daemon.guard.Permit();
  const int64_t now = server_.clock().Now().micros;

  EXPECT_LT(permit.earliest.micros, now);
  EXPECT_GT(permit.earliest.micros, now - 100'000);
  EXPECT_GT(permit.latest.micros, now + 1'000'000);
  EXPECT_LT(permit.latest.micros, now + 1'100'000);
}

TEST_F(NodeGuardTest, BeatsAboutOnceASecond) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  const int64_t before = ParseMarker(Marker())->beat.count;

  executor_.AdvanceBy(10s);

  EXPECT_NEAR(static_cast<double>(ParseMarker(Marker())->beat.count - before), 10, 1);
}

TEST_F(NodeGuardTest, CeilingIsRaisedBeforeALongerLease) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_FALSE(daemon.guard.Permits({0}, 4'200ms));
  ASSERT_TRUE(PermitsSoon(daemon, 4'200ms));

  EXPECT_EQ(ParseMarker(Marker())->marker.ttl_ceiling, 5s) << "in whole seconds";
  EXPECT_TRUE(daemon.guard.Permits({0}, 5'000ms));
  EXPECT_FALSE(daemon.guard.Permits({0}, 5'001ms));
}

// Goal: a daemon that was told of longer leases while it runs assumes them of a store that nobody
// knows, and goes on to do so when it is told of shorter ones. Method: the store has a record of a
// lock, and no marker.
TEST_F(NodeGuardTest, LongestLeaseThatWasEverAllowedIsAssumedOfAnUnknownStore) {
  Run({"SET", "lk:{report}", "a record"});
  Guarded& daemon = Another();
  daemon.guard.CoverLeases(20min);
  daemon.guard.CoverLeases(10s);

  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_THAT(daemon.observer.told, ElementsAre("marker_missing 1"));
  const StoreMarker marker = ParseMarker(Marker())->marker;
  EXPECT_EQ(marker.ttl_ceiling, 20min);
  EXPECT_EQ(daemon.observer.last.quarantine_end.micros, marker.quarantine_end.micros);
  EXPECT_GT(daemon.observer.last.quarantine_left, 20min);
}

// What is known is in the marker, and a longer lease that is only allowed is not.
TEST_F(NodeGuardTest, CoveredLeasesAreInTheMarkerOnceTheyAreAskedFor) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon, 4s));

  daemon.guard.CoverLeases(20min);
  EXPECT_EQ(ParseMarker(Marker())->marker.ttl_ceiling, 4s);
  EXPECT_FALSE(daemon.guard.Permits({0}, 15min)) << "the marker is to say so first";
  ASSERT_TRUE(PermitsSoon(daemon, 15min));
  EXPECT_EQ(ParseMarker(Marker())->marker.ttl_ceiling, 15min);

  daemon.guard.CoverLeases(4s);
  executor_.AdvanceBy(2s);
  EXPECT_EQ(ParseMarker(Marker())->marker.ttl_ceiling, 15min) << "such leases may run";
}

TEST_F(NodeGuardTest, DaemonsAgreeOnOneFirstUse) {
  Guarded& one = Another();
  Guarded& two = Another();

  ASSERT_TRUE(PermitsSoon(one));
  ASSERT_TRUE(PermitsSoon(two));

  EXPECT_EQ(one.guard.stamp(), two.guard.stamp());
  EXPECT_EQ(one.guard.proof_basis().key, two.guard.proof_basis().key);
  EXPECT_EQ(one.observer.told.size() + two.observer.told.size(), 1U);
}

TEST_F(NodeGuardTest, RaiseOfAnotherDaemonIsTakenOver) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  ASSERT_TRUE(PermitsSoon(one, 9s));

  two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);  // As its next script call would be.
  ASSERT_TRUE(PermitsSoon(two, 9s));

  EXPECT_EQ(two.guard.stamp(), one.guard.stamp());
  EXPECT_EQ(two.guard.trust().epoch, 1);
}

// With the next beat would be too late.
TEST_F(NodeGuardTest, QuarantineCoversALeaseWhoseDaemonIsGoneAMomentAfterItWasGranted) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one, 2s) && PermitsSoon(two, 2s));
  ASSERT_TRUE(PermitsSoon(one, 9s));

  executor_.AdvanceBy(1ms);
  one.node.GoAway(support::InFlight::kLost);
  Run({"FLUSHALL"});
  two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(two));

  EXPECT_GT(two.guard.Permit().grants_from.micros, server_.clock().Now().micros + 9'000'000);
}

TEST_F(NodeGuardTest, MessageThatComesLateHoldsNothingBack) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon, 9s));

  daemon.guard.OnMarkerWritten("the stamp of before");

  EXPECT_TRUE(daemon.guard.Permits({0}, 9s));
}

TEST_F(NodeGuardTest, EmptiedStoreIsNoticedOnceByAll) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one, 9s) && PermitsSoon(two, 9s));
  Run({"FLUSHALL"});

  two.node.PlanNext({.request_delay = core::Micros(100)});  // Its look comes second.
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));

  std::vector<std::string> told = one.observer.told;
  told.insert(told.end(), two.observer.told.begin(), two.observer.told.end());
  EXPECT_THAT(told, testing::UnorderedElementsAre("first use", "emptied 2", "epoch 2"));
  EXPECT_EQ(one.guard.stamp(), two.guard.stamp());
  EXPECT_EQ(one.guard.Permit().epoch, "0000000002");
  EXPECT_GT(one.guard.Permit().grants_from.micros, server_.clock().Now().micros + 9'000'000);
  const absl::Status refusal = two.guard.Refusal();
  EXPECT_EQ(core::ReasonOf(refusal), core::ErrorReason::kStoreQuarantined);
  EXPECT_GT(*core::RetryDelayOf(refusal), 9s);
  EXPECT_THAT(one.guard.Refusal().ToString(), HasSubstr("FLUSHALL"));
}

TEST_F(NodeGuardTest, BeatNoticesALossWithoutAnyCalls) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon, 2s));
  Run({"FLUSHALL"});

  executor_.AdvanceBy(1'500ms);

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "emptied 2"));
}

TEST_F(NodeGuardTest, QuarantineEndsWhenItIsOver) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon, 2s));
  Run({"FLUSHALL"});
  daemon.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(daemon));
  EXPECT_GT(daemon.observer.last.quarantine_left, 0s);

  executor_.AdvanceBy(2'000ms);
  EXPECT_GT(daemon.observer.last.quarantine_left, 0s);
  executor_.AdvanceBy(200ms);

  EXPECT_EQ(daemon.observer.last.quarantine_left, 0s) << "told by itself";
  EXPECT_EQ(daemon.guard.trust().quarantine_left, 0s);
}

TEST_F(NodeGuardTest, RestartHoldsCallsBackUntilItIsJudged) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  server_.Restart();

  EXPECT_FALSE(daemon.guard.Permits({0}, 0ms)) << "though the marker is the same";
  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use")) << "it was durable";
  EXPECT_EQ(ParseMarker(Marker())->marker.run_id, server_.life().run_id);
  EXPECT_EQ(daemon.guard.trust().quarantine_left, 0s);
}

TEST_F(NodeGuardTest, RestartThatProvesNothingIsALoss) {
  Guarded& daemon = Another();
  server_.life().durable = false;
  ASSERT_TRUE(PermitsSoon(daemon));
  server_.Restart();

  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "restarted 2"));
}

TEST_F(NodeGuardTest, DurabilityIsWrittenDownAsItIsNow) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  ASSERT_TRUE(ParseMarker(Marker())->marker.durable);
  server_.life().durable = false;

  executor_.AdvanceBy(1'500ms);

  EXPECT_FALSE(ParseMarker(Marker())->marker.durable);
  EXPECT_THAT(daemon.observer.told, ElementsAre("first use"));
}

// One of them may not ask for `appendfsync`, say.
TEST_F(NodeGuardTest, DaemonsThatDoNotAgreeOnDurabilityWriteOnceASecondEach) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  two.node.SeeAsVolatile();
  const auto requests = [&] { return one.node.requests() + two.node.requests(); };
  const uint64_t before = requests();

  executor_.AdvanceBy(10s);

  EXPECT_LT(requests() - before, 10 * 20U) << "for 20 beats, and what they do not agree on";
  EXPECT_TRUE(PermitsSoon(one) && PermitsSoon(two));
}

TEST_F(NodeGuardTest, ClockStepIsNoticedByAnAnswer) {
  for (const core::Micros step : {core::Micros(1h), core::Micros(-1h), core::Micros(80ms)}) {
    SCOPED_TRACE(step.count());
    Guarded& daemon = Another();
    ASSERT_TRUE(PermitsSoon(daemon, 1s));
    daemon.observer.told.clear();
    const int64_t epoch = daemon.guard.trust().epoch;
    const core::Instant sent = clock_.Now();
    server_.clock().StepBy(step);

    EXPECT_FALSE(daemon.guard.OnAnswered({0}, sent, server_.clock().Now()));
    EXPECT_FALSE(daemon.guard.Permits({0}, 0ms));
    ASSERT_TRUE(PermitsSoon(daemon));

    EXPECT_THAT(daemon.observer.told, ElementsAre("clock_step " + std::to_string(epoch + 1)));
    EXPECT_GT(daemon.guard.trust().quarantine_left, 0s);
    EXPECT_LT(daemon.guard.trust().quarantine_left, 1'600ms) << "of the clock as it is now";
    daemons_.clear();
  }
}

// A daemon that notices first does not know the longest lease: there is time to tell it.
TEST_F(NodeGuardTest, QuarantineLastsUntilTheOthersHaveSaidHowLongTheirLeasesAre) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one) && PermitsSoon(two));
  ASSERT_TRUE(PermitsSoon(one, 5s));
  Run({"FLUSHALL"});

  two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(two));
  EXPECT_GT(two.guard.trust().quarantine_left, 1s) << "as long as between two beats";
  executor_.AdvanceBy(2'100ms);

  EXPECT_GT(two.guard.trust().quarantine_left, 2s) << "though its own leases were short";
}

// On another connection, where it takes longer: by whichever clock it was carried out.
TEST_F(NodeGuardTest, AnswerFromBeforeTheClockWasLearnedAnewIsNotBelieved) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon, 1s));
  const core::Instant sent = clock_.Now();
  const core::NodeTime before = server_.clock().Now();
  executor_.AdvanceBy(1ms);
  server_.clock().StepBy(200ms);
  daemon.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_FALSE(daemon.guard.OnAnswered({1}, sent, before));
  EXPECT_FALSE(daemon.guard.OnAnswered({1}, sent, server_.clock().Now()));

  executor_.AdvanceBy(2s);
  EXPECT_TRUE(daemon.guard.OnAnswered({1}, clock_.Now(), server_.clock().Now()));
  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "clock_step 2")) << "no second loss";
}

// The answer that raises the ceiling is also the first by the new clock.
TEST_F(NodeGuardTest, ClockStepWhileTheCeilingIsRaisedIsNoticed) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon, 1s));
  server_.clock().StepBy(200ms);

  EXPECT_FALSE(daemon.guard.Permits({0}, 5s));
  ASSERT_TRUE(PermitsSoon(daemon, 5s));

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "clock_step 2"));
}

// The second daemon has its own idea of the clock, and must not call the same step a second loss.
TEST_F(NodeGuardTest, ClockStepIsOneLossForAllDaemons) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one, 1s) && PermitsSoon(two, 1s));
  server_.clock().StepBy(1h);
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(one));
  executor_.AdvanceBy(1s);

  two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(two));
  executor_.AdvanceBy(3s);

  EXPECT_EQ(one.guard.trust().epoch, 2);
  EXPECT_EQ(two.guard.trust().epoch, 2);
}

// What is slow cannot tell that the clock was set, and must not find it out afterwards.
TEST_F(NodeGuardTest, ClockStepThatOnlyOneDaemonCouldTellIsOneLoss) {
  Guarded& one = Another();
  Guarded& two = Another();
  ASSERT_TRUE(PermitsSoon(one, 1s) && PermitsSoon(two, 1s));
  server_.clock().StepBy(-100ms);
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(one));
  two.node.PlanNext({.request_delay = 200ms});

  two.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(two));
  executor_.AdvanceBy(3s);

  EXPECT_EQ(one.guard.trust().epoch, 2);
  EXPECT_EQ(two.guard.trust().epoch, 2);
}

TEST_F(NodeGuardTest, TokensStayAboveWhereTheClockHasBeen) {
  Guarded& one = Another();
  ASSERT_TRUE(PermitsSoon(one, 1s));
  executor_.AdvanceBy(2s);
  const int64_t before = server_.clock().Now().micros;
  EXPECT_TRUE(one.guard.OnAnswered({0}, clock_.Now(), server_.clock().Now()));
  server_.clock().StepBy(-1h);
  one.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);
  ASSERT_TRUE(PermitsSoon(one));

  Guarded& new_one = Another();
  ASSERT_TRUE(PermitsSoon(new_one));

  EXPECT_GE(new_one.guard.Permit().token_floor, before) << "though it has never seen that clock";
}

TEST_F(NodeGuardTest, SettingThatBreaksPromisesStopsGrantsUntilItIsRight) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  daemon.node.SeeSettingProblem("may evict locks");
  executor_.AdvanceBy(1'500ms);

  EXPECT_TRUE(daemon.guard.Permits({0}, 0ms)) << "leases go on";
  EXPECT_GT(daemon.guard.Permit().grants_from.micros, server_.clock().Now().micros + 1'000'000);
  EXPECT_EQ(core::ReasonOf(daemon.guard.Refusal()), core::ErrorReason::kStoreUnavailable);
  EXPECT_THAT(daemon.guard.Refusal().ToString(), HasSubstr("may evict locks"));
  EXPECT_EQ(daemon.observer.last.problem, "may evict locks");

  daemon.node.SeeSettingProblem("");
  executor_.AdvanceBy(1'500ms);
  EXPECT_EQ(daemon.guard.Permit().grants_from.micros, 0);
  EXPECT_EQ(daemon.observer.last.problem, "");
}

TEST_F(NodeGuardTest, EvictedKeysAreALoss) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  server_.life().evicted_keys = 1;

  executor_.AdvanceBy(1'500ms);

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "evicted 2"));
}

TEST_F(NodeGuardTest, KeysEvictedAfterTheCounterWasResetAreALoss) {
  server_.life().evicted_keys = 3;
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));

  server_.life().evicted_keys = 0;
  executor_.AdvanceBy(1'500ms);
  EXPECT_THAT(daemon.observer.told, ElementsAre("first use")) << "a reset alone is no loss";
  server_.life().evicted_keys = 1;
  executor_.AdvanceBy(1'500ms);

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use", "evicted 2"));
}

TEST_F(NodeGuardTest, RecordsWithoutAMarkerAreALoss) {
  Run({"SET", "lk:{report}", "a record"});
  Guarded& daemon = Another();

  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_THAT(daemon.observer.told, ElementsAre("marker_missing 1"));
}

TEST_F(NodeGuardTest, KeysOfOthersMakeNoDifference) {
  for (int i = 0; i < 3'000; ++i) {
    const std::string key = "other:" + std::to_string(i);
    Run({"SET", key, "1"});
  }
  Guarded& daemon = Another();

  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_THAT(daemon.observer.told, ElementsAre("first use"));
}

TEST_F(NodeGuardTest, WhateverStandsInPlaceOfTheMarkerIsReplaced) {
  for (const std::vector<std::string_view>& command :
       std::vector<std::vector<std::string_view>>{{"SET", "lk:store", "garbage"},
                                                  {"SET", "lk:store", ""},
                                                  {"ZADD", "lk:store", "1", "member"}}) {
    Run({"FLUSHALL"});
    Run(command);
    Guarded& daemon = Another();
    ASSERT_TRUE(PermitsSoon(daemon));
    EXPECT_TRUE(ParseMarker(Marker())) << command.front();
    daemons_.clear();
  }
}

TEST_F(NodeGuardTest, StoreThatIsAwayIsAskedSoThatItSaysSo) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  daemon.node.GoAway(InFlight::kLost);

  EXPECT_TRUE(daemon.guard.Permits({0}, 0ms));
  executor_.AdvanceBy(5s);
  daemon.node.ComeBack();

  EXPECT_TRUE(daemon.guard.Permits({0}, 0ms)) << "the same start of the server";
  EXPECT_THAT(daemon.observer.told, ElementsAre("first use"));
}

TEST_F(NodeGuardTest, LookThatIsLostIsMadeAgain) {
  Guarded& daemon = Another();
  daemon.node.PlanNext({.fate = support::Fate::kRequestLost});
  EXPECT_FALSE(daemon.guard.Permits({0}, 0ms));

  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_GE(daemon.changes, 2) << "whoever waits hears of each try, to look at its own time";
}

// Its answer was lost, so it is found as somebody else's.
TEST_F(NodeGuardTest, WriteWhoseAnswerIsLostIsRecognized) {
  Guarded& daemon = Another();
  ASSERT_TRUE(PermitsSoon(daemon));
  Run({"FLUSHALL"});
  daemon.node.PlanNext({});                                   // The look,
  daemon.node.PlanNext({.fate = support::Fate::kReplyLost});  // the new marker.
  daemon.guard.OnRefused({}, clock_.Now(), RefusedFor::kOther);

  ASSERT_TRUE(PermitsSoon(daemon));

  EXPECT_EQ(daemon.guard.trust().epoch, 2) << "not a second loss";
}

TEST_F(NodeGuardTest, MayEndAtAnyMoment) {
  for (int turns = 0; turns < 8; ++turns) {
    Guarded& daemon = Another();
    EXPECT_FALSE(daemon.guard.Permits({0}, 0ms));
    for (int i = 0; i < turns; ++i) executor_.RunTurn();
    daemons_.clear();
    executor_.RunUntilIdle();
    Run({"FLUSHALL"});
  }
}

}  // namespace
}  // namespace lockkeeper::redis
