// SPDX-License-Identifier: Apache-2.0
#include "text/duration_text.h"

#include <gtest/gtest.h>

#include <chrono>

namespace lockkeeper::text {
namespace {

using Micros = std::chrono::microseconds;
using Millis = std::chrono::milliseconds;

TEST(DurationTextTest, ReadsLikeWhatPeopleWrite) {
  EXPECT_EQ(InWords(Micros(0)), "0");
  EXPECT_EQ(InWords(Millis(100)), "100ms");
  EXPECT_EQ(InWords(Micros(100'001)), "101ms");
  EXPECT_EQ(InWords(Millis(4'200)), "4.2s");
  EXPECT_EQ(InWords(Millis(60'601)), "1m0.7s");
  EXPECT_EQ(InWords(Millis(60'000)), "1m");
  EXPECT_EQ(InWords(Millis(24 * 3'600'000)), "24h");
  EXPECT_EQ(InWords(Millis(90 * 60'000)), "1h30m");
}

TEST(DurationTextTest, ReadsWhatIsLongerThanMicrosecondsCount) {
  EXPECT_EQ(InWords(Millis::max()), "2562047788015h12m55.9s");
}

}  // namespace
}  // namespace lockkeeper::text
