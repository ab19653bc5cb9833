// SPDX-License-Identifier: Apache-2.0
//
// Which calls a store may still execute when its data are replaced by older ones.
#include "simulation/store_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "redis/scripts.h"
#include "simulation/campaign.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {
namespace {

constexpr int64_t kBeats = 7;
constexpr Micros kLifetime{1'000'000};

class StoreLinkTest : public testing::Test {
 protected:
  // Of a daemon that knows of kBeats.
  void CallMarker(std::string_view replacement) {
    const int64_t now = server_.clock().Now().micros;
    redis::Command command(9);
    command.Word("EVALSHA").Word(redis::kMarkerScript.sha1).Number(1).Word("lk:store");
    command.Word(replacement).Word(replacement).Number(kBeats);
    command.Number(now).Number(now + kLifetime.count());
    link_.Run({}, redis::kMarkerScript, std::move(command), [](auto) {});
  }
  void Beat() { CallMarker("a marker"); }

  void BeSlow() {
    link_.Strike(
        {.kind = FaultKind::kStoreSlow, .at = {}, .duration = Micros(60'000'000), .target = 0});
  }

  CompiledScripts lua_;
  support::SeededRandom random_;
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  Process process_{executor_};
  support::RedisModel server_{lua_, clock_};
  support::RedisModel promoted_{lua_, clock_, '1'};
  // What the replicas confirm of what was executed by now.
  core::Assurance Confirm() {
    core::Assurance confirmed = core::Assurance::kNone;
    bool answered = false;
    link_.Confirm({}, core::Assurance::kReplicas, clock_.Now() + kLifetime,
                  [&](core::Assurance how_much) {
                    confirmed = how_much;
                    answered = true;
                  });
    EXPECT_FALSE(answered);
    executor_.AdvanceUntil([&] { return answered; }, kLifetime);
    EXPECT_TRUE(answered);
    return confirmed;
  }

  int executed_ = 0;
  const support::RedisModel* last_executed_by_ = nullptr;
  Replicas replicas_{.must_confirm = true};
  StoreLink link_{server_,
                  clock_,
                  executor_,
                  process_,
                  random_.Fork(),
                  [this](const support::RedisModel& server, const auto&, const auto&) {
                    ++executed_;
                    last_executed_by_ = &server;
                  },
                  replicas_};
};

TEST_F(StoreLinkTest, BeatIsUnderWayForAStoreWithAsManyBeats) {
  Beat();
  EXPECT_TRUE(link_.HasUnderWay(kBeats));
  EXPECT_FALSE(link_.HasUnderWay(kBeats - 1));
}

TEST_F(StoreLinkTest, LookAtTheMarkerExpectsNothing) {
  CallMarker("");
  EXPECT_FALSE(link_.HasUnderWay(kBeats));
}

TEST_F(StoreLinkTest, ReplicasConfirmUnlessTheyAreAwayForLongerThanADaemonWaits) {
  EXPECT_EQ(Confirm(), core::Assurance::kReplicas);
  replicas_.away_until = clock_.Now() + Micros(100'000);
  EXPECT_EQ(Confirm(), core::Assurance::kReplicas);

  replicas_.away_until = clock_.Now() + Micros(2'000'000);
  EXPECT_TRUE(link_.MayConfirm(core::Assurance::kReplicas));
  EXPECT_EQ(Confirm(), core::Assurance::kDisk);
  EXPECT_FALSE(link_.MayConfirm(core::Assurance::kReplicas));
  EXPECT_NE(link_.setting_problem(), "");
  const core::Instant before = clock_.Now();
  EXPECT_EQ(Confirm(), core::Assurance::kDisk);
  EXPECT_EQ(clock_.Now(), before) << "nobody waits for replicas that were missed";

  executor_.AdvanceBy(core::Millis(3'000));
  EXPECT_TRUE(link_.MayConfirm(core::Assurance::kReplicas)) << "a probe has found them";
  EXPECT_EQ(link_.setting_problem(), "");
  EXPECT_EQ(Confirm(), core::Assurance::kReplicas);
}

TEST_F(StoreLinkTest, DaemonThatCannotAskIsConfirmedNothing) {
  core::Assurance confirmed{};
  link_.Confirm({}, core::Assurance::kReplicas, clock_.Now() + core::Millis(500),
                [&](core::Assurance reached) { confirmed = reached; });
  link_.Strike({.kind = FaultKind::kConfirmationsDown, .duration = core::Millis(700)});
  EXPECT_FALSE(link_.MayConfirm(core::Assurance::kReplicas));
  EXPECT_EQ(Confirm(), core::Assurance::kDisk);
  executor_.AdvanceBy(core::Millis(600));
  EXPECT_EQ(confirmed, core::Assurance::kDisk) << "it was being asked for when the fault came";

  executor_.AdvanceBy(core::Millis(2'000));
  EXPECT_EQ(Confirm(), core::Assurance::kReplicas);
}

// While it is cut off no probe can find them.
TEST_F(StoreLinkTest, DaemonThatIsCutOffMissesReplicasUntilItHasLookedForThem) {
  core::Instant missed_last;
  replicas_.on_missed = [&] { missed_last = clock_.Now(); };
  link_.Strike({.kind = FaultKind::kConfirmationsDown, .duration = core::Millis(100)});
  EXPECT_EQ(missed_last, clock_.Now());
  link_.Cut(core::Millis(3'000));
  const core::Instant back = clock_.Now() + core::Millis(3'000);

  EXPECT_TRUE(executor_.AdvanceUntil([&] { return clock_.Now() >= back; }, core::Millis(3'000)));
  EXPECT_FALSE(link_.MayConfirm(core::Assurance::kReplicas));
  EXPECT_GE(missed_last + core::Millis(500), back);

  executor_.AdvanceBy(core::Millis(600));
  EXPECT_TRUE(link_.MayConfirm(core::Assurance::kReplicas));
  EXPECT_LE(missed_last, back);
}

// Half of its calls arrive all the same.
TEST_F(StoreLinkTest, CallOfAConnectionThatBrokeIsUnderWayUntilItIsTooLate) {
  BeSlow();
  for (int i = 0; i < 50; ++i) Beat();
  link_.Cut(Micros(1'000));
  EXPECT_TRUE(link_.HasUnderWay(kBeats));

  server_.clock().StepBy(kLifetime + Micros(1));

  EXPECT_FALSE(link_.HasUnderWay(kBeats));
}

TEST_F(StoreLinkTest, CallsGoWhereTheSentinelsSay) {
  std::vector<std::string> heard;
  link_.Subscribe("news", [&](std::string_view message) { heard.emplace_back(message); });
  BeSlow();
  for (int i = 0; i < 50; ++i) Beat();

  link_.MoveTo(promoted_);
  EXPECT_EQ(link_.life({}).run_id, "") << "it connects";
  executor_.AdvanceBy(core::Millis(100));
  EXPECT_EQ(link_.life({}).run_id, promoted_.life().run_id);
  executor_.AdvanceBy(core::Millis(60'000));
  EXPECT_GT(executed_, 0) << "some of them had left";
  EXPECT_EQ(last_executed_by_, &server_);

  Beat();
  executor_.AdvanceBy(core::Millis(60'000));
  EXPECT_EQ(last_executed_by_, &promoted_);
  server_.Execute(std::vector<std::string_view>{"PUBLISH", "news", "from the one before"});
  promoted_.Execute(std::vector<std::string_view>{"PUBLISH", "news", "from the promoted one"});
  executor_.AdvanceBy(core::Millis(60'000));
  EXPECT_THAT(heard, testing::ElementsAre("from the promoted one"));
}

TEST_F(StoreLinkTest, ServerThatHasBecomeAReplicaIsLeft) {
  server_.LoadCompiledScripts();
  server_.RefuseWrites("READONLY You can't write against a read only replica.");
  Beat();
  executor_.AdvanceBy(core::Millis(100));
  EXPECT_EQ(link_.life({}).run_id, "");
}

TEST_F(StoreLinkTest, RestartEndsWhatWasUnderWay) {
  BeSlow();
  for (int i = 0; i < 50; ++i) Beat();
  server_.Restart();
  link_.Cut(Micros(1'000));
  EXPECT_FALSE(link_.HasUnderWay(kBeats));
}

TEST_F(StoreLinkTest, CallOfAnUnknownScriptIsUnderWayUntilItWasSentAgain) {
  Beat();
  ASSERT_TRUE(executor_.AdvanceUntil([this] { return executed_ == 1; }, kLifetime));
  EXPECT_TRUE(link_.HasUnderWay(kBeats)) << "though the node has answered NOSCRIPT";

  ASSERT_TRUE(executor_.AdvanceUntil([this] { return executed_ == 3; }, kLifetime));
  EXPECT_FALSE(link_.HasUnderWay(kBeats));
}

}  // namespace
}  // namespace lockkeeper::simulation
