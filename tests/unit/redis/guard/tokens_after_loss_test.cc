// SPDX-License-Identifier: Apache-2.0
//
// Tokens rise over a loss, also those that other daemons have granted.
#include <chrono>
#include <string>

#include "gtest/gtest.h"
#include "redis/guard/loss_judge.h"

namespace lockkeeper::redis {
namespace {

constexpr int64_t kNow = 1'800'000'000'000'000;

// What the marker says after the store was emptied, noticed by a daemon with this floor.
int64_t FloorAfterLoss(int64_t own_floor, core::Millis ceiling = {},
                       QuarantineMode mode = QuarantineMode::kOn) {
  SeenMarker known;
  known.marker = {.service_id = "1111111111111111",
                  .epoch = 1,
                  .run_id = std::string(40, 'a'),
                  .ttl_ceiling = ceiling,
                  .reassertion_key = std::string(32, '1')};
  return Judge({.known = known,
                .life = {.run_id = std::string(40, 'a')},
                .now = {kNow},
                .token_floor = {own_floor}},
               {.quarantine = mode})
      .marker.token_floor.value;
}

TEST(TokensAfterLossTest, WhileTokensFollowTheClockItIsTheirFloor) {
  EXPECT_EQ(FloorAfterLoss(kNow), kNow);
}

// Replies of one moment come in any order, and one of them told the time of the loss. Tokens ran
// 100 s ahead from then on, and records were kept as much longer.
TEST(TokensAfterLossTest, FloorThatTheQuarantineOutlastsStaysAsItIs) {
  constexpr int64_t kLater = kNow + 300;
  EXPECT_EQ(FloorAfterLoss(kLater), kLater);
  EXPECT_EQ(FloorAfterLoss(kNow + 1'000'000, std::chrono::seconds(30)), kNow + 1'000'000);
}

TEST(TokensAfterLossTest, FloorsThatOthersMayHaveBeyondTheQuarantineArePassedOver) {
  constexpr int64_t kAhead = kNow + 500'000;
  EXPECT_GT(FloorAfterLoss(kAhead), kAhead) << "in a quarantine of 1.5 s";
}

TEST(TokensAfterLossTest, WithoutAQuarantineNoFloorStaysAheadOfTheClock) {
  EXPECT_EQ(FloorAfterLoss(kNow, {}, QuarantineMode::kOff), kNow);
  EXPECT_GT(FloorAfterLoss(kNow + 1, {}, QuarantineMode::kOff), kNow + 1);
}

TEST(TokensAfterLossTest, WhileTheClockIsBehindThemThoseOfOthersArePassedOver) {
  constexpr int64_t kAhead = kNow + 3'600'000'000;
  EXPECT_GE(FloorAfterLoss(kAhead), kAhead + 10'000 * 3'600) << "an hour of 10,000 grants a second";
}

}  // namespace
}  // namespace lockkeeper::redis
