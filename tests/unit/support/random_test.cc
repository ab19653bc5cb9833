// SPDX-License-Identifier: Apache-2.0
#include "support/random.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace lockkeeper::support {
namespace {

// Seeds that once failed are kept: what they mean must not change.
TEST(RandomTest, StreamOfASeedStaysTheSame) {
  Random random(1234567);

  EXPECT_EQ(random.Bits(), 6457827717110365317U);
  EXPECT_EQ(random.Bits(), 3203168211198807973U);
}

TEST(RandomTest, BetweenReachesBothEndsAndNothingBeyond) {
  SeededRandom random;
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const int64_t value = random.Between(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    low |= value == -2;
    high |= value == 2;
  }
  EXPECT_TRUE(low && high);
}

TEST(RandomTest, BetweenTakesTheWholeRangeOfNumbers) {
  using Limits = std::numeric_limits<int64_t>;
  SeededRandom random;
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t value = random.Between(Limits::min(), Limits::max());
    negative |= value < 0;
    positive |= value > 0;
  }
  EXPECT_TRUE(negative && positive);
}

}  // namespace
}  // namespace lockkeeper::support
