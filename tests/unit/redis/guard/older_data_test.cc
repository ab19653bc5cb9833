// SPDX-License-Identifier: Apache-2.0
//
// The data of a server are replaced by older ones: under connections that go on, or by a restart
// after which it says that it kept everything.
#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "core/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/format/marker_columns.h"
#include "unit/redis/guard/guarded_store_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using core::ErrorReason;
using core::Instant;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

class OlderDataTest : public GuardedStoreTest {
 protected:
  OlderDataTest() { server_.life().durable = true; }

  void Restart() {
    server_.Restart();
    server_.LoadCompiledScripts();
  }

  bool IsQuarantined(uint64_t id) {
    const auto answer = Acquire(id);
    return core::ReasonOf(answer.status()) == ErrorReason::kStoreQuarantined;
  }

  // As other daemons do that know less.
  void LetBeatsCatchUp() {
    std::string marker = Marker();
    const Column beat = marker_column::kBeat;
    marker.replace(beat.first - 1, beat.width(), "0000000000000099");
    Run({"SET", "lk:store", marker});
  }

  // After a restart. The marker is known, and the lease has been asked for. Returns when a call was
  // sent before.
  Instant LookForTheLastLease() {
    EXPECT_TRUE(Acquire(1).ok());
    const Instant sent = clock_.Now();
    Restart();
    daemon_.node.SetNetwork([](support::Words) { return support::Delivery{.reply_delay = 5ms}; });
    EXPECT_FALSE(daemon_.guard.Permits({0}, 10s));
    executor_.AdvanceBy(7ms);
    return sent;
  }

  // When a call of a daemon that trusts the store was sent.
  Instant SendCall() {
    EXPECT_TRUE(PermitsSoon(daemon_, 10s));
    executor_.AdvanceBy(100ms);
    return clock_.Now();
  }

  void ExpectOlderData() {
    executor_.AdvanceBy(100ms);
    EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "older_data 2"));
  }

  // Returns whether a restart is believed that lost the claim or the extend of the last lease.
  bool IsBelievedWithoutTheClaim();
  bool IsBelievedWithoutTheExtend();

  void ExpectOlderDataThoughBeatsCatchUp();
};

bool OlderDataTest::IsBelievedWithoutTheClaim() {
  EXPECT_TRUE(Acquire(1).ok());
  Run({"SETRANGE", "lk:{a}", "2", "O"});  // As it was offered, with the same token.
  Restart();
  return !IsQuarantined(2);
}

bool OlderDataTest::IsBelievedWithoutTheExtend() {
  EXPECT_TRUE(Acquire(1).ok());
  EXPECT_TRUE(PermitsSoon(daemon_, 20s));  // So that nothing but the record tells of it.
  const std::string record = Run({"GET", "lk:{a}"}).text;
  EXPECT_TRUE(Extend(1, 20s).ok());
  Run({"SET", "lk:{a}", record});
  Restart();
  return !IsQuarantined(2);
}

void OlderDataTest::ExpectOlderDataThoughBeatsCatchUp() {
  const auto snapshot = server_.TakeSnapshot();
  executor_.AdvanceBy(1500ms);
  ASSERT_LT(ParseMarker(Marker())->beat.count, 99);
  server_.RestoreSnapshot(snapshot);
  daemon_.node.SetNetwork([](support::Words) { return support::Delivery{.reply_delay = 5ms}; });
  std::optional<absl::StatusOr<core::AcquireAnswer>> answer;
  store_.Acquire(AcquireOf(1),
                 [&answer](absl::StatusOr<core::AcquireAnswer> result) { answer = result; });
  executor_.AdvanceBy(2ms);  // The call was refused, and its answer is under way.
  ASSERT_FALSE(answer.has_value());
  ASSERT_THAT(Run({"GET", "lk:{a}"}).text, IsEmpty());
  LetBeatsCatchUp();

  ASSERT_TRUE(executor_.AdvanceUntil([&answer] { return answer.has_value(); }, 5s));
  EXPECT_THAT(core::ReasonOf(answer->status()), Optional(ErrorReason::kStoreQuarantined));
}

// --- under connections that go on

TEST_F(OlderDataTest, NextCallFindsThatTheStoreHasOlderData) {
  ASSERT_TRUE(Acquire(1).ok());
  ASSERT_TRUE(Release(1).ok());
  executor_.AdvanceBy(1s);
  const auto snapshot = server_.TakeSnapshot();
  executor_.AdvanceBy(1s);
  ASSERT_TRUE(Acquire(2).ok());
  server_.RestoreSnapshot(snapshot);

  EXPECT_TRUE(IsQuarantined(3));
  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "older_data 2"));
}

TEST_F(OlderDataTest, NextBeatFindsThatTheStoreHasOlderData) {
  ASSERT_TRUE(PermitsSoon(daemon_));
  const auto snapshot = server_.TakeSnapshot();
  executor_.AdvanceBy(1s);
  server_.RestoreSnapshot(snapshot);

  executor_.AdvanceBy(1100ms);

  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "older_data 2"))
      << "though its own beat is as many as it knew";
}

// It was on its way since before the daemon's later beats, on a connection that is given up.
TEST_F(OlderDataTest, BeatThatComesLateDoesNotHideIt) {
  ASSERT_TRUE(PermitsSoon(daemon_));
  executor_.AdvanceBy(100ms);
  daemon_.node.PlanNext({.request_delay = 2500ms});  // Sent in 950 ms.
  executor_.AdvanceBy(2400ms);
  const auto snapshot = server_.TakeSnapshot();
  executor_.AdvanceBy(1s);
  server_.RestoreSnapshot(snapshot);
  executor_.AdvanceBy(100ms);  // It comes, and must not take the place of the one that was lost.

  executor_.AdvanceBy(600ms);

  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "older_data 2"));
}

TEST_F(OlderDataTest, BeatThatComesLateIsNoLoss) {
  daemon_.node.GoAway(support::InFlight::kLost);  // Its beats would go on meanwhile.
  Guarded& patient = Another({.reply_timeout = 10s});
  ASSERT_TRUE(PermitsSoon(patient));
  executor_.AdvanceBy(100ms);
  const int64_t beats = ParseMarker(Marker())->beat.count;
  patient.node.PlanNext({.request_delay = 2s});  // Sent in 950 ms.
  executor_.AdvanceBy(2990ms);
  ASSERT_EQ(ParseMarker(Marker())->beat.count, beats) << "it does not count";

  executor_.AdvanceBy(1s);

  EXPECT_EQ(ParseMarker(Marker())->beat.count, beats + 1);
  EXPECT_THAT(patient.observer.told, ElementsAre("first use"));
}

// What a daemon has found is not hidden by those that beat meanwhile and know less.
TEST_F(OlderDataTest, BeatsThatCatchUpDoNotHideThatTheStoreHadOlderData) {
  ASSERT_TRUE(Acquire(2).ok());  // So that the ceiling is high enough, and Redis knows the script.
  Run({"DEL", "lk:{a}"});
  ExpectOlderDataThoughBeatsCatchUp();
}

TEST_F(OlderDataTest, BeatsThatCatchUpWhileTheCeilingIsRaisedDoNotHideIt) {
  ASSERT_TRUE(PermitsSoon(daemon_));
  ExpectOlderDataThoughBeatsCatchUp();
}

TEST_F(OlderDataTest, MarkerThatIsReplacedMeanwhileDoesNotHideIt) {
  const Instant sent = SendCall();
  ASSERT_FALSE(daemon_.guard.Permits({1}, 20s));  // The ceiling is being raised.
  daemon_.guard.OnRefused({}, sent, RefusedFor::kOlderData);

  ExpectOlderData();
}

TEST_F(OlderDataTest, MarkerThatWasReplacedBeforeTheAnswerDoesNotHideIt) {
  const Instant sent = SendCall();
  executor_.AdvanceBy(1ms);
  ASSERT_TRUE(PermitsSoon(daemon_, 20s));
  daemon_.guard.OnRefused({}, sent, RefusedFor::kOlderData);

  ExpectOlderData();
}

TEST_F(OlderDataTest, AnswerFromBeforeTheQuarantineBeginsNoOther) {
  const Instant sent = SendCall();
  executor_.AdvanceBy(1ms);
  for (int i = 0; i < 2; ++i) {
    daemon_.guard.OnRefused({}, sent, RefusedFor::kOlderData);
    ExpectOlderData();
  }
}

TEST_F(OlderDataTest, BeatTellsOfItWhileTheMarkerIsReplaced) {
  ASSERT_TRUE(PermitsSoon(daemon_, 10s));
  executor_.AdvanceBy(100ms);
  const auto snapshot = server_.TakeSnapshot();
  executor_.AdvanceBy(1s);
  server_.RestoreSnapshot(snapshot);
  daemon_.node.SetNetwork([](support::Words) { return support::Delivery{.reply_delay = 5ms}; });
  executor_.AdvanceBy(952ms);  // The beat was not written, and its answer is under way.
  LetBeatsCatchUp();
  ASSERT_FALSE(daemon_.guard.Permits({1}, 20s));

  ExpectOlderData();
}

TEST_F(OlderDataTest, LookForTheLastLeaseDoesNotHideIt) {
  const Instant sent = LookForTheLastLease();
  daemon_.guard.OnRefused({}, sent, RefusedFor::kOlderData);

  ExpectOlderData();
}

TEST_F(OlderDataTest, LookForTheLastLeaseDoesNotHideThatTheClockWasSet) {
  const Instant sent = LookForTheLastLease();
  server_.clock().StepBy(4s);
  EXPECT_FALSE(daemon_.guard.OnAnswered({1}, sent, {server_.clock().Now().micros}));

  executor_.AdvanceBy(100ms);

  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "clock_step 2"));
}

TEST_F(OlderDataTest, BeatsOfOthersAreNoLoss) {
  Another();
  Another();
  ASSERT_TRUE(PermitsSoon(daemon_));
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(Acquire(1).ok());
    executor_.AdvanceBy(333ms);
  }
  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use"));
}

// --- by a restart of a durable server

TEST_F(OlderDataTest, ServerThatLostALeaseInARestartIsNotBelieved) {
  ASSERT_TRUE(Acquire(1).ok());
  Run({"DEL", "lk:{a}"});
  Restart();

  EXPECT_TRUE(IsQuarantined(2));
  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "older_data 2"));
}

TEST_F(OlderDataTest, ServerThatLostAnExtendInARestartIsNotBelieved) {
  EXPECT_FALSE(IsBelievedWithoutTheExtend());
}

TEST_F(OlderDataTest, ServerThatLostAClaimInARestartIsNotBelieved) {
  EXPECT_FALSE(IsBelievedWithoutTheClaim());
  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "older_data 2"));
}

// The clock was set back, so that the record of before has the later end.
TEST_F(OlderDataTest, ServerThatLostAReassertionInARestartIsNotBelieved) {
  const auto granted = Acquire(1);
  ASSERT_TRUE(granted.ok());
  const std::string record = Run({"GET", "lk:{a}"}).text;
  server_.clock().StepBy(-5s);
  executor_.AdvanceBy(1500ms);
  const auto proved = TakeBack(std::get<core::Lease>(*granted));
  ASSERT_TRUE(proved.ok()) << proved.status();
  Run({"SET", "lk:{a}", record});
  Restart();

  EXPECT_TRUE(IsQuarantined(2));
  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "clock_step 2", "older_data 3"));
}

// Its answer comes when the daemon knows the next epoch already.
TEST_F(OlderDataTest, LeaseOfTheEpochBeforeIsNotMissedAfterARestart) {
  const auto granted = Acquire(1);
  ASSERT_TRUE(granted.ok());
  const Instant sent = clock_.Now();
  server_.clock().StepBy(-5s);
  executor_.AdvanceBy(1500ms);
  daemon_.guard.OnConfirmed({}, sent, std::get<core::Lease>(*granted));
  Restart();

  EXPECT_TRUE(IsQuarantined(2));
  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use", "clock_step 2"));
}

// Its record has a format of its own.
TEST_F(OlderDataTest, ServerThatLostAnExtendOfALeaseWithHoldAtLeastIsNotBelieved) {
  hold_at_least_ = 5s;
  EXPECT_FALSE(IsBelievedWithoutTheExtend());
}

TEST_F(OlderDataTest, ServerThatLostAClaimOfALeaseWithHoldAtLeastIsNotBelieved) {
  hold_at_least_ = 5s;
  EXPECT_FALSE(IsBelievedWithoutTheClaim());
}

TEST_F(OlderDataTest, ServerThatKeptTheLastLeaseInARestartIsBelieved) {
  ASSERT_TRUE(Acquire(1).ok());
  Restart();

  const auto answer = Acquire(2);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(std::holds_alternative<core::Contention>(*answer));
  EXPECT_THAT(daemon_.observer.told, ElementsAre("first use"));
}

TEST_F(OlderDataTest, ReleaseBeforeARestartIsNoLoss) {
  ASSERT_TRUE(Acquire(1).ok());
  ASSERT_TRUE(Release(1).ok());
  Restart();

  const auto answer = Acquire(2);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(std::holds_alternative<core::Lease>(*answer));
}

TEST_F(OlderDataTest, RecordThatIsOverSinceLongIsNoLoss) {
  ASSERT_TRUE(Acquire(1).ok());
  daemon_.node.GoAway(support::InFlight::kLost);
  executor_.AdvanceBy(75s);
  Run({"DEL", "lk:{a}"});  // As Redis does, a minute after its lease.
  Restart();
  daemon_.node.ComeBack();

  const auto answer = Acquire(2);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(std::holds_alternative<core::Lease>(*answer));
}

}  // namespace
}  // namespace lockkeeper::redis
