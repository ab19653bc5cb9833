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
int64_t FloorAfterLoss(int64_t own_floor) {
  SeenMarker known;
  known.marker = {.service_id = "1111111111111111",
                  .epoch = 1,
                  .run_id = std::string(40, 'a'),
                  .reassertion_key = std::string(32, '1')};
  return Judge({.known = known,
                .life = {.run_id = std::string(40, 'a')},
                .now = {kNow},
                .token_floor = {own_floor}},
               {})
      .marker.token_floor.value;
}

TEST(TokensAfterLossTest, WhileTokensFollowTheClockItIsTheirFloor) {
  EXPECT_EQ(FloorAfterLoss(kNow), kNow);
}

TEST(TokensAfterLossTest, WhileTheClockIsBehindThemThoseOfOthersArePassedOver) {
  constexpr int64_t kAhead = kNow + 3'600'000'000;
  EXPECT_GE(FloorAfterLoss(kAhead), kAhead + 10'000 * 3'600) << "an hour of 10,000 grants a second";
}

}  // namespace
}  // namespace lockkeeper::redis
