// SPDX-License-Identifier: Apache-2.0
//
// Each way in which a store can forget, and each in which it only seems to.
#include "redis/guard/loss_judge.h"

#include <chrono>
#include <string>

#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using Kind = Judgement::Kind;

const std::string kRun(40, 'a');
const std::string kLaterRun(40, 'b');
constexpr int64_t kNow = 1'800'000'000'000'000;

class LossJudgeTest : public testing::Test {
 protected:
  LossJudgeTest() {
    sighting_.known = TheMarker();
    sighting_.seen = TheMarker();
    sighting_.life = {.run_id = kRun, .durable = true};
    sighting_.now = {kNow};
    sighting_.token_floor = {kNow};
  }

  static SeenMarker TheMarker() {
    SeenMarker seen;
    seen.marker = {.service_id = "1111111111111111",
                   .epoch = 3,
                   .run_id = kRun,
                   .ttl_ceiling = 30s,
                   .durable = true,
                   .home = std::string(16, '0'),
                   .reassertion_key = std::string(32, '1'),
                   .token_floor = {5}};
    seen.beat = {.count = 10, .at = {kNow - 1'000'000}};
    return seen;
  }

  Judgement Judged() const { return Judge(sighting_, policy_); }

  // The store has lost something: another epoch, and nothing new for as long as `ceiling`.
  void ExpectLoss(LossKind kind, core::Millis ceiling = 30s) const {
    const Judgement judgement = Judged();
    ASSERT_EQ(judgement.kind, Kind::kLoss);
    EXPECT_EQ(NameOf(judgement.loss), NameOf(kind));
    const StoreMarker& marker = judgement.marker;
    EXPECT_EQ(marker.ttl_ceiling, ceiling);
    EXPECT_EQ(marker.quarantine_end.micros, kNow + core::Micros(QuarantineOf(ceiling)).count());
    EXPECT_EQ(marker.run_id, sighting_.life.run_id);
    EXPECT_EQ(marker.durable, sighting_.life.durable);
    EXPECT_GE(marker.token_floor.value, kNow);
  }

  Sighting sighting_;
  JudgePolicy policy_{.ceiling_max = 2min,
                      .new_service_id = "2222222222222222",
                      .new_reassertion_key = std::string(32, '2')};
};

TEST_F(LossJudgeTest, QuarantineOutlastsSlowClocks) {
  EXPECT_GT(QuarantineOf(30s), 30s + 300ms - 1ms);
  EXPECT_LT(QuarantineOf(30s), 30s + 400ms);
  EXPECT_GT(QuarantineOf(0s), 0s);
}

TEST_F(LossJudgeTest, SameMarkerIsTrustedAsItIs) {
  const Judgement judgement = Judged();

  EXPECT_EQ(judgement.kind, Kind::kTrusted);
  EXPECT_EQ(judgement.marker, TheMarker().marker);
}

TEST_F(LossJudgeTest, BeatsOfOthersAreNoLoss) {
  sighting_.seen->beat.count = 12;
  EXPECT_EQ(Judged().kind, Kind::kTrusted);
}

TEST_F(LossJudgeTest, MissingMarkerIsALossToWhoKnewIt) {
  sighting_.seen.reset();
  ExpectLoss(LossKind::kEmptied);
  EXPECT_EQ(Judged().marker.epoch, 4);
  EXPECT_EQ(Judged().marker.service_id, "1111111111111111");
  EXPECT_EQ(Judged().marker.reassertion_key, std::string(32, '1')) << "proofs stay good";
}

TEST_F(LossJudgeTest, SomethingElseInItsPlaceIsALoss) {
  sighting_.seen.reset();
  sighting_.unreadable = true;
  ExpectLoss(LossKind::kUnreadable);
  sighting_.known.reset();
  ExpectLoss(LossKind::kUnreadable, 2min);
}

TEST_F(LossJudgeTest, OlderMarkerIsALoss) {
  sighting_.seen->beat.count = 9;
  ExpectLoss(LossKind::kOlderData);

  sighting_.seen = TheMarker();
  sighting_.seen->marker.epoch = 2;
  ExpectLoss(LossKind::kOlderData);
  EXPECT_EQ(Judged().marker.epoch, 4) << "above the one that was known";

  sighting_.seen = TheMarker();
  sighting_.seen->marker.ttl_ceiling = 29s;
  ExpectLoss(LossKind::kOlderData);
}

TEST_F(LossJudgeTest, MarkerOfAnotherServiceIsALoss) {
  sighting_.seen->marker.service_id = "3333333333333333";
  sighting_.seen->marker.reassertion_key = std::string(32, '3');
  sighting_.seen->marker.ttl_ceiling = 40s;
  ExpectLoss(LossKind::kAnotherStore, 40s);
  EXPECT_EQ(Judged().marker.epoch, 4);
  EXPECT_EQ(Judged().marker.service_id, "1111111111111111");
  EXPECT_EQ(Judged().marker.reassertion_key, std::string(32, '1'));
}

// What proofs say of the ends of leases stays true, whatever the store has lost besides.
TEST_F(LossJudgeTest, ServiceTimeGoesOnOverALossAndAStep) {
  sighting_.known->marker.clock_offset = sighting_.seen->marker.clock_offset = 7s;
  sighting_.clock_steps = {.count = 1};
  sighting_.clock_offset = -53s;
  ExpectLoss(LossKind::kClockStep);
  EXPECT_EQ(Judged().marker.clock_offset, -53s);
  sighting_.seen->marker.clock_offset = 3s;
  sighting_.seen->beat.count = 9;
  ExpectLoss(LossKind::kOlderData);
  EXPECT_EQ(Judged().marker.clock_offset, -53s);
  sighting_.seen.reset();
  ExpectLoss(LossKind::kEmptied);
  EXPECT_EQ(Judged().marker.clock_offset, -53s);
  sighting_.clock_steps = {};
  sighting_.clock_offset = 7s;
  EXPECT_EQ(Judged().marker.clock_offset, 7s);
}

TEST_F(LossJudgeTest, OffsetGoesWithTheKeyThatProofsAreMadeWith) {
  sighting_.known->marker.clock_offset = sighting_.clock_offset = 7s;
  sighting_.seen->marker.service_id = "3333333333333333";
  sighting_.seen->marker.clock_offset = 9s;
  EXPECT_EQ(Judged().marker.clock_offset, 7s);
  sighting_.seen->marker.epoch = 7;
  EXPECT_EQ(Judged().marker.clock_offset, 9s);
}

// Two daemons that insisted on their own would call each other's marker a loss for ever.
TEST_F(LossJudgeTest, WhoseEpochIsBehindTakesTheOthersIdAndKey) {
  sighting_.seen->marker.service_id = "3333333333333333";
  sighting_.seen->marker.reassertion_key = std::string(32, '3');
  sighting_.seen->marker.epoch = 7;
  ExpectLoss(LossKind::kAnotherStore, 30s);
  EXPECT_EQ(Judged().marker.epoch, 8);
  EXPECT_EQ(Judged().marker.service_id, "3333333333333333");
  EXPECT_EQ(Judged().marker.reassertion_key, std::string(32, '3'));
}

TEST_F(LossJudgeTest, WithoutQuarantineTheIdThatIsThereStays) {
  policy_.quarantine = QuarantineMode::kOff;
  sighting_.seen->marker.service_id = "3333333333333333";
  EXPECT_EQ(Judged().loss, LossKind::kAnotherStore);
  EXPECT_EQ(Judged().marker.service_id, "3333333333333333");
}

TEST_F(LossJudgeTest, RestartIsALossUnlessItWasDurableBeforeAndAfter) {
  sighting_.life.run_id = kLaterRun;
  for (const bool before : {false, true}) {
    for (const bool after : {false, true}) {
      sighting_.seen->marker.durable = before;
      sighting_.life.durable = after;
      if (before && after) {
        EXPECT_EQ(Judged().kind, Kind::kRewrite);
        EXPECT_EQ(Judged().marker.epoch, 3);
        EXPECT_EQ(Judged().marker.run_id, kLaterRun);
        EXPECT_EQ(Judged().marker.quarantine_end.micros, 0);
      } else {
        ExpectLoss(LossKind::kRestarted);
      }
    }
  }
  sighting_.life.promoted = true;
  sighting_.life.durable = false;
  ExpectLoss(LossKind::kPromoted);
  sighting_.life.durable = sighting_.seen->marker.durable = false;
  policy_.assume_durable = true;
  EXPECT_EQ(Judged().kind, Kind::kRewrite);
}

// The primary before may have granted leases until then.
TEST_F(LossJudgeTest, QuarantineOutlastsTheIsolationOfThePrimaryBefore) {
  sighting_.life = {.run_id = kLaterRun, .promoted = true, .isolation = 4s};
  EXPECT_EQ(NameOf(Judged().loss), "promoted");
  EXPECT_EQ(Judged().marker.quarantine_end.micros,
            kNow + core::Micros(QuarantineOf(30s) + 4s).count());

  policy_.quarantine = QuarantineMode::kOff;
  EXPECT_EQ(Judged().marker.quarantine_end.micros, 0);
}

// Its clock is ahead of the promoted one's by less than the whole quarantine, and it goes on to
// give tokens by that clock for as long as the isolation.
TEST_F(LossJudgeTest, TokensPassOverThoseThatThePrimaryBeforeMayStillGive) {
  const core::Millis isolation = 6s;
  const core::Millis quarantine = QuarantineOf(30s) + isolation;
  sighting_.life.run_id = kLaterRun;
  sighting_.life.durable = false;
  sighting_.life.promoted = true;
  sighting_.life.isolation = isolation;
  sighting_.token_floor = {kNow + core::Micros(quarantine - 2s).count()};

  const StoreMarker marker = Judged().marker;

  EXPECT_EQ(marker.quarantine_end.micros, kNow + core::Micros(quarantine).count());
  EXPECT_GT(marker.token_floor.value,
            sighting_.token_floor.value + core::Micros(isolation).count());
}

// Another daemon may have seen a server with a longer one.
TEST_F(LossJudgeTest, QuarantineWithIsolationIsNoClockStep) {
  sighting_.life.isolation = 4s;
  sighting_.seen->marker.epoch = 4;
  sighting_.seen->marker.quarantine_end.micros =
      kNow + core::Micros(QuarantineOf(30s) + kIsolationMax).count();
  EXPECT_EQ(Judged().kind, Kind::kTrusted);

  ++sighting_.seen->marker.quarantine_end.micros;
  EXPECT_EQ(NameOf(Judged().loss), "clock_step");
}

TEST_F(LossJudgeTest, PromotedServerHasAClockOfItsOwn) {
  sighting_.life = {.run_id = kLaterRun, .promoted = true, .isolation = 4s};
  sighting_.clock_steps = {.count = 1, .epoch = 3};
  EXPECT_EQ(NameOf(Judged().loss), "promoted");

  sighting_.life.promoted = false;
  EXPECT_EQ(NameOf(Judged().loss), "clock_step");
}

// A server that was promoted may be restarted before anybody has seen it, and look durable.
TEST_F(LossJudgeTest, NothingIsGrantedWhileTheServerBeforeMayGrantThoughNothingIsLost) {
  sighting_.life = {.run_id = kLaterRun, .durable = true, .isolation = 4s};
  EXPECT_EQ(Judged().kind, Kind::kRewrite);
  EXPECT_EQ(Judged().marker.epoch, 3);
  EXPECT_EQ(Judged().marker.quarantine_end.micros, kNow + core::Micros(4s).count());

  policy_.quarantine = QuarantineMode::kOff;
  EXPECT_EQ(Judged().marker.quarantine_end.micros, 0);
}

// A Cluster moved the slot: the server that the marker names lives, and this one has been a primary
// since before that one took its last beat.
TEST_F(LossJudgeTest, KeysThatAClusterMovedHereAreAllThere) {
  const core::Micros moved_later = 3s;
  sighting_.from_living_primary = true;
  sighting_.life = {.run_id = kLaterRun, .isolation = 17s};
  sighting_.life.primary_since = {sighting_.seen->beat.at.micros - moved_later.count()};
  EXPECT_EQ(Judged().kind, Kind::kRewrite);
  EXPECT_EQ(Judged().marker.run_id, kLaterRun);
  EXPECT_EQ(Judged().marker.quarantine_end.micros, 0) << "nobody else grants there";

  sighting_.seen->beat.count = 9;
  EXPECT_EQ(NameOf(Judged().loss), "older_data") << "the marker itself is an old one";
}

TEST_F(LossJudgeTest, KeysAreOnlyMovedFromALivingServerToOneThatWasAPrimaryBefore) {
  const Sighting moved = [this] {
    Sighting sighting = sighting_;
    sighting.from_living_primary = true;
    sighting.life = {.run_id = kLaterRun};
    sighting.life.primary_since = {sighting.seen->beat.at.micros - core::Micros(3s).count()};
    return sighting;
  }();
  sighting_ = moved;
  sighting_.from_living_primary = false;
  ExpectLoss(LossKind::kRestarted);

  sighting_ = moved;
  sighting_.life.primary_since.micros += core::Micros(2s).count();
  ExpectLoss(LossKind::kRestarted);

  sighting_ = moved;
  sighting_.life.primary_since = {};
  ExpectLoss(LossKind::kRestarted);
}

TEST_F(LossJudgeTest, LongerLeasesOfOthersOutlastTheIsolationToo) {
  sighting_.life.isolation = 4s;
  sighting_.seen->marker.epoch = 4;
  sighting_.seen->marker.ttl_ceiling = 1s;
  EXPECT_EQ(Judged().kind, Kind::kRewrite);
  EXPECT_EQ(Judged().marker.quarantine_end.micros,
            kNow + core::Micros(QuarantineOf(30s) + 4s).count());
}

// A durable server that has an older beat than this daemon wrote did not keep everything.
TEST_F(LossJudgeTest, DurableRestartWithoutTheLastBeatIsALoss) {
  sighting_.life.run_id = kLaterRun;
  sighting_.seen->beat.count = 9;
  ExpectLoss(LossKind::kOlderData);
}

TEST_F(LossJudgeTest, NewDaemonTrustsWhatIsThere) {
  sighting_.known.reset();
  EXPECT_EQ(Judged().kind, Kind::kTrusted);

  sighting_.life.run_id = kLaterRun;
  EXPECT_EQ(Judged().kind, Kind::kRewrite);

  // Nobody here knows whether a longer lease was granted and forgotten.
  sighting_.seen->marker.durable = false;
  ExpectLoss(LossKind::kRestarted, 2min);
}

// Two daemons that see a server differently would rewrite the marker in turn.
TEST_F(LossJudgeTest, WhatADaemonSeesOfARunningServerIsWrittenOnlyNowAndThen) {
  policy_.home = "00000000000000ab";
  EXPECT_EQ(Judged().kind, Kind::kTrusted);

  sighting_.seen->marker.durable = sighting_.known->marker.durable = false;
  EXPECT_EQ(Judged().kind, Kind::kTrusted);

  sighting_.may_improve = true;
  EXPECT_EQ(Judged().kind, Kind::kRewrite);
  EXPECT_TRUE(Judged().marker.durable);
}

TEST_F(LossJudgeTest, ClockStepIsALossOnce) {
  sighting_.clock_steps = {.count = 1, .epoch = 3};
  ExpectLoss(LossKind::kClockStep);

  // Another daemon has noticed the same step already.
  sighting_.seen->marker.epoch = 4;
  sighting_.seen->marker.quarantine_end = {kNow + 5};
  EXPECT_EQ(Judged().kind, Kind::kTrusted);
}

TEST_F(LossJudgeTest, ClockStepAfterTheLossThatAnotherNoticedIsOneToo) {
  sighting_.clock_steps = {.count = 1, .epoch = 4};
  sighting_.seen->marker.epoch = 4;
  sighting_.seen->marker.quarantine_end = {kNow - 1};  // By the clock as it is, not in truth.
  ExpectLoss(LossKind::kClockStep);
  EXPECT_EQ(Judged().marker.epoch, 5);

  sighting_.clock_steps = {.count = 1, .epoch = 3};
  EXPECT_EQ(Judged().kind, Kind::kTrusted) << "the marker tells of it";
}

// A daemon that had not seen the clock as it was took the quarantine for as long as the step.
TEST_F(LossJudgeTest, QuarantineThatEndsLaterThanItCouldShowsThatTheClockWasSetBack) {
  sighting_.seen->marker.epoch = 4;
  const int64_t longest = kNow + core::Micros(QuarantineOf(30s)).count();
  sighting_.seen->marker.quarantine_end = {longest};
  EXPECT_EQ(Judged().kind, Kind::kTrusted);

  sighting_.seen->marker.quarantine_end = {longest + 1};
  ExpectLoss(LossKind::kClockStep);
  EXPECT_EQ(Judged().marker.epoch, 5);
  sighting_.known.reset();
  ExpectLoss(LossKind::kClockStep, 2min);
}

TEST_F(LossJudgeTest, ShortestQuarantineIsNoSignOfAClockThatWasSet) {
  sighting_.known->marker.ttl_ceiling = sighting_.seen->marker.ttl_ceiling = 1s;
  sighting_.seen->marker.epoch = 4;
  sighting_.seen->marker.quarantine_end = {kNow + 1'500'000};
  EXPECT_EQ(Judged().kind, Kind::kTrusted);
}

TEST_F(LossJudgeTest, LostWriteIsALossWhateverTheMarkerSays) {
  sighting_.older_data = true;
  ExpectLoss(LossKind::kOlderData);

  // Another daemon has noticed it already.
  sighting_.seen->marker.epoch = 4;
  EXPECT_EQ(Judged().kind, Kind::kTrusted);
}

TEST_F(LossJudgeTest, EvictedKeysAreALoss) {
  sighting_.life.evicted_keys = 3;
  sighting_.evicted_before = 3;
  EXPECT_EQ(Judged().kind, Kind::kTrusted);
  sighting_.life.evicted_keys = 4;
  ExpectLoss(LossKind::kEvicted);
}

TEST_F(LossJudgeTest, QuarantineThatIsEndedPassesOverTokensThatTheClockHasNotReached) {
  const core::NodeTime now{5'000'000'000};
  StoreMarker marker = sighting_.known->marker;
  marker.quarantine_end = {now.micros + 25'000'000};
  marker.token_floor = {now.micros - 2'000'000};
  EXPECT_EQ(WithQuarantineEnded(marker, now).quarantine_end, now);
  EXPECT_EQ(WithQuarantineEnded(marker, now).token_floor.value, marker.quarantine_end.micros);

  marker.token_floor = {now.micros + 20'000'000};

  EXPECT_GT(WithQuarantineEnded(marker, now).token_floor.value,
            marker.token_floor.value + 10'000'000);
}

TEST_F(LossJudgeTest, KeysEvictedSinceTheCounterWasResetAreALoss) {
  sighting_.evicted_before = 3;
  sighting_.life.evicted_keys = 0;
  EXPECT_EQ(Judged().kind, Kind::kTrusted) << "a reset alone is none";
  EXPECT_EQ(Judged().evicted_keys, 0);
  sighting_.life.evicted_keys = 1;
  ExpectLoss(LossKind::kEvicted);
}

TEST_F(LossJudgeTest, KeysThatARestartedServerHasEvictedAreALoss) {
  sighting_.life.run_id = kLaterRun;
  sighting_.life.evicted_keys = 1;
  sighting_.evicted_before = 3;  // By the start before.
  ExpectLoss(LossKind::kEvicted);

  policy_.assume_durable = true;
  sighting_.life.durable = false;
  ExpectLoss(LossKind::kEvicted);

  sighting_.known.reset();
  ExpectLoss(LossKind::kEvicted, 2min);
}

TEST_F(LossJudgeTest, LeaseThatIsMissingAfterARestartMayHaveBeenEvicted) {
  sighting_.life.run_id = kLaterRun;
  sighting_.life.evicted_keys = 1;
  sighting_.older_data = true;  // The last lease was not found.
  ExpectLoss(LossKind::kEvicted);
}

// Another daemon found the restart harmless, and keys were evicted since.
TEST_F(LossJudgeTest, KeysEvictedSinceARestartThatAnotherHasConfirmedAreALoss) {
  sighting_.life.run_id = sighting_.seen->marker.run_id = kLaterRun;
  EXPECT_EQ(Judged().kind, Kind::kTrusted);
  sighting_.life.evicted_keys = 1;
  ExpectLoss(LossKind::kEvicted);
}

// Else each daemon that starts would begin a quarantine, for ever after one eviction.
TEST_F(LossJudgeTest, NewDaemonLeavesWhatARunningServerHasEvictedToThoseThatKnowIt) {
  sighting_.known.reset();
  sighting_.life.evicted_keys = 3;
  EXPECT_EQ(Judged().kind, Kind::kTrusted);
  EXPECT_EQ(Judged().evicted_keys, 3);
}

TEST_F(LossJudgeTest, NewerEpochIsTakenOver) {
  sighting_.seen->marker.epoch = 4;
  sighting_.seen->marker.quarantine_end = {kNow + 5'000'000};
  sighting_.seen->beat.count = 1;
  EXPECT_EQ(Judged().kind, Kind::kTrusted);
  EXPECT_EQ(Judged().marker.quarantine_end.micros, kNow + 5'000'000);
}

// Whoever noticed the loss did not know of our long leases: those have to be waited for as well.
TEST_F(LossJudgeTest, NewerEpochWithAShorterCeilingIsMadeToWaitForOurs) {
  sighting_.known->marker.ttl_ceiling = 60s;
  sighting_.seen->marker.epoch = 4;
  sighting_.seen->marker.quarantine_end = {kNow + 5'000'000};

  const Judgement judgement = Judged();

  EXPECT_EQ(judgement.kind, Kind::kRewrite);
  EXPECT_EQ(judgement.marker.epoch, 4);
  EXPECT_EQ(judgement.marker.ttl_ceiling, 60s);
  EXPECT_EQ(judgement.marker.quarantine_end.micros, kNow + core::Micros(QuarantineOf(60s)).count());
}

// It had missed the last change of the marker before the loss. Without this it grants a token
// twice.
TEST_F(LossJudgeTest, NewerEpochOfADaemonThatDidNotKnowTheHighestTokensGetsThem) {
  const core::FencingToken highest{kNow + 20'000'000};
  sighting_.known->marker.token_floor = highest;
  sighting_.token_floor = highest;
  sighting_.seen->marker.epoch = 4;
  sighting_.seen->marker.token_floor = {kNow};

  const Judgement judgement = Judged();

  ASSERT_EQ(judgement.kind, Kind::kRewrite);
  EXPECT_EQ(judgement.marker.epoch, 4);
  EXPECT_GT(judgement.marker.token_floor.value, highest.value + 10'000'000)
      << "others have granted some of them";
  EXPECT_EQ(judgement.marker.quarantine_end.micros, kNow + 1'500'000) << "until all others know";

  sighting_.seen->marker = judgement.marker;
  EXPECT_EQ(Judged().kind, Kind::kTrusted) << "once";
  sighting_.seen->marker.token_floor = {kNow};
  sighting_.seen->marker.quarantine_end = {kNow + 25'000'000};
  EXPECT_EQ(Judged().kind, Kind::kTrusted) << "the clock will be beyond them";
}

TEST_F(LossJudgeTest, ChangedDurabilityIsWrittenDown) {
  sighting_.life.durable = false;
  EXPECT_EQ(Judged().kind, Kind::kRewrite);
  EXPECT_FALSE(Judged().marker.durable);
  EXPECT_EQ(Judged().marker.epoch, 3);
}

TEST_F(LossJudgeTest, EmptyStoreThatNobodyKnowsIsANewOne) {
  sighting_.known.reset();
  sighting_.seen.reset();
  const Judgement judgement = Judged();
  EXPECT_EQ(judgement.kind, Kind::kFirstUse);
  EXPECT_EQ(judgement.marker.epoch, 1);
  EXPECT_EQ(judgement.marker.service_id, "2222222222222222");
  EXPECT_EQ(judgement.marker.quarantine_end.micros, 0);

  policy_.first_use = FirstUse::kQuarantine;
  EXPECT_EQ(Judged().marker.quarantine_end.micros, kNow + core::Micros(QuarantineOf(2min)).count());
}

TEST_F(LossJudgeTest, RecordsWithoutAMarkerAreALoss) {
  sighting_.known.reset();
  sighting_.seen.reset();
  for (const LossKind kind : {LossKind::kRecordsFirst, LossKind::kNotSearched}) {
    sighting_.records = kind;
    ExpectLoss(kind, 2min);
  }
  EXPECT_EQ(Judged().marker.epoch, 1);
}

TEST_F(LossJudgeTest, CopiedOrTouchedFolderIsALossAtTheNextStart) {
  sighting_.known.reset();
  sighting_.life.run_id = kLaterRun;
  sighting_.seen->marker.home = policy_.home = std::string(16, '7');
  policy_.home_changed = {sighting_.seen->beat.at.micros + 1'000'000};
  EXPECT_EQ(Judged().kind, Kind::kRewrite) << "written to until it was stopped";

  policy_.home_changed = {sighting_.seen->beat.at.micros + 6'000'000};
  ExpectLoss(LossKind::kDataTouched, 2min);

  policy_.home_changed = {};
  policy_.home = std::string(16, '8');
  ExpectLoss(LossKind::kDataTouched, 2min);
}

TEST_F(LossJudgeTest, WithoutQuarantineALossChangesNothingButIsTold) {
  policy_.quarantine = QuarantineMode::kOff;
  sighting_.seen.reset();

  const Judgement judgement = Judged();

  EXPECT_EQ(judgement.kind, Kind::kLoss);
  EXPECT_EQ(judgement.marker.epoch, 3);
  EXPECT_EQ(judgement.marker.quarantine_end.micros, 0);
}

TEST_F(LossJudgeTest, EveryKindHasANameAndAnExplanation) {
  for (int kind = 0; kind <= static_cast<int>(LossKind::kNotSearched); ++kind) {
    EXPECT_NE(NameOf(static_cast<LossKind>(kind)), "unknown");
    EXPECT_FALSE(ExplanationOf(static_cast<LossKind>(kind)).empty());
  }
}

}  // namespace
}  // namespace lockkeeper::redis
