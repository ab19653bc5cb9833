// SPDX-License-Identifier: Apache-2.0
#include "text/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace lockkeeper::text {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(ParseDurationTest, NumbersWithUnitsAreRead) {
  struct Case {
    std::string text;
    milliseconds duration;
  };
  for (const Case& each :
       {Case{"100ms", 100ms}, Case{"30s", 30s}, Case{"5m", 5min}, Case{"1h", 1h}, Case{"0s", 0ms},
        Case{"0ms", 0ms}, Case{"007s", 7s}, Case{"1.5s", 1500ms}, Case{"1m30s", 90s},
        Case{"9223372036854775807ms", milliseconds::max()}}) {
    milliseconds duration{-1};

    EXPECT_EQ(ParseDuration(each.text, duration), std::nullopt) << each.text;
    EXPECT_EQ(duration, each.duration) << each.text;
  }
}

TEST(ParseDurationTest, AnythingElseIsRefused) {
  struct Case {
    std::string text;
    std::string problem;
  };
  const std::string form = "must be a duration in whole milliseconds, such as 500ms, 30s or ";
  for (const Case& each : {
           Case{"5", R"("5" is a bare number; give it a unit, such as 5s (units: ms, s, m, h))"},
           Case{"0", "is a bare number"},
           Case{"99999999999999999999", "is a bare number"},
           Case{"", form},
           Case{"s", form},
           Case{"5 s", form},
           Case{" 5s", form},
           Case{"5s ", form},
           Case{"-5s", form},
           Case{"+5s", form},
           Case{"-5", form},
           Case{"inf", form},
           Case{"5S", form},
           Case{"5sec", form},
           Case{"5d", form},
           Case{"5us", form},
           Case{"1.0005s", form},
           Case{"0x10s", form},
           Case{"5\xC2\xB5s", form},
           Case{"9223372036854775807s", form},
           Case{"9223372036854775808ms", form},
           Case{"5\ns", R"(is "5\ns")"},
       }) {
    milliseconds duration{-1};
    const Problem problem = ParseDuration(each.text, duration);

    ASSERT_TRUE(problem) << "`" << each.text << "` read as " << duration.count() << " ms";
    EXPECT_THAT(*problem, HasSubstr(each.problem));
    EXPECT_EQ(duration, -1ms) << "changed all the same";
  }
}

TEST(FormatDurationTest, ReadsLikeWhatPeopleWrite) {
  EXPECT_EQ(FormatDuration(0ms), "0s");
  EXPECT_EQ(FormatDuration(1ms), "1ms");
  EXPECT_EQ(FormatDuration(1500ms), "1.5s");
  EXPECT_EQ(FormatDuration(90s), "1m30s");
  EXPECT_EQ(FormatDuration(120s), "2m");
  EXPECT_EQ(FormatDuration(90min), "1h30m");
  EXPECT_EQ(FormatDuration(24h), "24h");
}

TEST(FormatDurationTest, ReadsBack) {
  for (const milliseconds each :
       {0ms, 1ms, 99ms, 1'000ms, 61'001ms, 3'600'000ms, 3'601'000ms, 7'200'001ms}) {
    milliseconds duration{-1};

    ASSERT_EQ(ParseDuration(FormatDuration(each), duration), std::nullopt);
    EXPECT_EQ(duration, each);
  }
}

TEST(DurationInWordsTest, IsRoundedUp) {
  EXPECT_EQ(InWords(0us), "0s");
  EXPECT_EQ(InWords(100ms), "100ms");
  EXPECT_EQ(InWords(100'001us), "101ms");
  EXPECT_EQ(InWords(4200ms), "4.2s");
  EXPECT_EQ(InWords(60'601ms), "1m0.7s");
  EXPECT_EQ(InWords(60s), "1m");
  EXPECT_EQ(InWords(24h), "24h");
  EXPECT_EQ(InWords(milliseconds::max()), "2562047788015h12m55.9s");
}

}  // namespace
}  // namespace lockkeeper::text
