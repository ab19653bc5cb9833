// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/token_floor.h"

#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

constexpr int64_t kClock = 1'800'000'000'000'000;

TEST(TokenFloorTest, IsAboveTheFurthestClockAndTheHighestToken) {
  TokenFloor floor;
  floor.SawClock({kClock});
  EXPECT_EQ(floor.value(), kClock);
  floor.SawClock({kClock - 5});
  EXPECT_EQ(floor.value(), kClock);
  floor.SawToken({kClock + 3'600'000'000});
  EXPECT_EQ(floor.value(), kClock + 3'600'000'001);
}

// One record with a damaged token must not leave all other locks without any.
TEST(TokenFloorTest, TokenThatIsYearsAheadIsNotBelieved) {
  TokenFloor floor;
  floor.SawClock({kClock});
  floor.SawToken({9'000'000'000'000'000});
  EXPECT_EQ(floor.value(), kClock);
}

}  // namespace
}  // namespace lockkeeper::redis
