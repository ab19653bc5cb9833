// SPDX-License-Identifier: Apache-2.0
//
// Which calls a store may still execute when its data are replaced by older ones.
#include "simulation/store_link.h"

#include <gtest/gtest.h>

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
  int executed_ = 0;
  StoreLink link_{server_,  clock_,         executor_,
                  process_, random_.Fork(), [this](const auto&, const auto&) { ++executed_; }};
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

// Half of its calls arrive all the same.
TEST_F(StoreLinkTest, CallOfAConnectionThatBrokeIsUnderWayUntilItIsTooLate) {
  BeSlow();
  for (int i = 0; i < 50; ++i) Beat();
  link_.Cut(Micros(1'000));
  EXPECT_TRUE(link_.HasUnderWay(kBeats));

  server_.clock().StepBy(kLifetime + Micros(1));

  EXPECT_FALSE(link_.HasUnderWay(kBeats));
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
