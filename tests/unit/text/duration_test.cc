// SPDX-License-Identifier: Apache-2.0
#include "text/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace lockkeeper::text {
namespace {

using Millis = std::chrono::milliseconds;
using testing::HasSubstr;

struct Readable {
  std::string text;
  Millis duration;
};

void ExpectRead(const Readable& expected) {
  SCOPED_TRACE(expected.text);
  Millis duration{-1};

  ASSERT_EQ(ParseDuration(expected.text, duration), std::nullopt);
  EXPECT_EQ(duration, expected.duration);
}

TEST(ReadableDurationTest, IsRead) {
  const Readable cases[] = {{"100ms", Millis(100)},
                            {"30s", std::chrono::seconds(30)},
                            {"5m", std::chrono::minutes(5)},
                            {"1h", std::chrono::hours(1)},
                            {"0s", Millis(0)},
                            {"0ms", Millis(0)},
                            {"007s", std::chrono::seconds(7)},
                            {"9223372036854775807ms", Millis::max()}};
  for (const Readable& expected : cases) ExpectRead(expected);
}

struct Refused {
  std::string text;
  std::string problem;
};

void ExpectRefused(const Refused& expected) {
  SCOPED_TRACE(expected.text);
  Millis duration{-1};
  const Problem problem = ParseDuration(expected.text, duration);

  ASSERT_TRUE(problem) << "read as " << duration.count() << " ms";
  EXPECT_THAT(*problem, HasSubstr(expected.problem));
}

TEST(RefusedDurationTest, SaysWhy) {
  const Refused cases[] = {
      {"5", R"("5" is a bare number; give it a unit, such as 5s (units: ms, s, m, h))"},
      {"0", "is a bare number"},
      {"", "a whole number and a unit"},
      {"s", "a whole number and a unit"},
      {"5 s", "a whole number and a unit"},
      {" 5s", "a whole number and a unit"},
      {"5s ", "a whole number and a unit"},
      {"-5s", "a whole number and a unit"},
      {"-5", "a whole number and a unit"},
      {"+5s", "a whole number and a unit"},
      {"1.5s", "a whole number and a unit"},
      {"1m30s", "a whole number and a unit"},
      {"5S", "a whole number and a unit"},
      {"5sec", "a whole number and a unit"},
      {"5d", "a whole number and a unit"},
      {"5us", "a whole number and a unit"},
      {"0x10s", "a whole number and a unit"},
      {"9223372036854775807s", "is too long"},
      {"9223372036854775808ms", "is too long"},
      {"99999999999999999999", "is a bare number"},
      {"5\ns", R"(is "5\ns")"}};
  for (const Refused& expected : cases) ExpectRefused(expected);
}

TEST(FormatDurationTest, UsesTheLargestExactUnit) {
  EXPECT_EQ(FormatDuration(Millis(0)), "0s");
  EXPECT_EQ(FormatDuration(Millis(1)), "1ms");
  EXPECT_EQ(FormatDuration(Millis(1'500)), "1500ms");
  EXPECT_EQ(FormatDuration(Millis(90'000)), "90s");
  EXPECT_EQ(FormatDuration(Millis(120'000)), "2m");
  EXPECT_EQ(FormatDuration(Millis(3'600'000)), "1h");
  EXPECT_EQ(FormatDuration(Millis(86'400'000)), "24h");
}

TEST(FormatDurationTest, ReadsBack) {
  for (const int64_t millis : {0, 1, 99, 1'000, 61'000, 3'600'000, 3'601'000, 7'200'001}) {
    Millis duration{-1};

    ASSERT_EQ(ParseDuration(FormatDuration(Millis(millis)), duration), std::nullopt);
    EXPECT_EQ(duration.count(), millis);
  }
}

}  // namespace
}  // namespace lockkeeper::text
