// SPDX-License-Identifier: Apache-2.0
#include "cli/duration.h"

#include <gtest/gtest.h>

#include <string>

namespace lockkeeper::cli {
namespace {

using namespace std::chrono_literals;

TEST(ParseDurationTest, WholeNumbersWithAUnitAreTaken) {
  EXPECT_EQ(ParseDuration("500ms").value(), 500ms);
  EXPECT_EQ(ParseDuration("0s").value(), 0ms);
  EXPECT_EQ(ParseDuration("30s").value(), 30s);
  EXPECT_EQ(ParseDuration("5m").value(), 5min);
  EXPECT_EQ(ParseDuration("1h").value(), 1h);
  EXPECT_EQ(ParseDuration("1000h").value(), 1000h);
}

TEST(ParseDurationTest, ANumberWithoutUnitIsAnErrorThatSaysSo) {
  for (const char* text : {"0", "30", "5000"}) {
    const absl::Status status = ParseDuration(text).status();
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_NE(status.message().find("has no unit"), std::string::npos) << status;
    EXPECT_NE(status.message().find(std::string(text) + "s"), std::string::npos) << status;
  }
}

TEST(ParseDurationTest, EverythingElseIsRefused) {
  for (const char* text :
       {"", "s", "ms", "-5s", "+5s", " 5s", "5 s", "5s ", "1.5s", "5x", "5sec", "5S", "1m30s",
        "0x5s", "1001h", "99999999999999999999ms", "5\xC2\xB5s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << "`" << text << "`";
  }
}

TEST(FormatDurationTest, IsShort) {
  EXPECT_EQ(FormatDuration(0ms), "0ms");
  EXPECT_EQ(FormatDuration(999ms), "999ms");
  EXPECT_EQ(FormatDuration(1s), "1s");
  EXPECT_EQ(FormatDuration(29'650ms), "29.6s");
  EXPECT_EQ(FormatDuration(60s), "1m");
  EXPECT_EQ(FormatDuration(90s), "1m30s");
  EXPECT_EQ(FormatDuration(1h), "1h");
  EXPECT_EQ(FormatDuration(25h + 59min + 59s), "25h59m");
}

}  // namespace
}  // namespace lockkeeper::cli
