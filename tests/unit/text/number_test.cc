// SPDX-License-Identifier: Apache-2.0
#include "text/number.h"

#include <gtest/gtest.h>

#include <limits>

namespace lockkeeper::text {
namespace {

TEST(ParseNumberTest, WholeTextIsTheNumber) {
  EXPECT_EQ(ParseNumber("0", 9), 0);
  EXPECT_EQ(ParseNumber("65535", 65'535), 65'535);
  EXPECT_EQ(ParseNumber("9223372036854775807", std::numeric_limits<int64_t>::max()),
            std::numeric_limits<int64_t>::max());
}

TEST(ParseNumberTest, AnythingElseIsNone) {
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.0", "0x1", "x", "9223372036854775808"}) {
    EXPECT_EQ(ParseNumber(text, std::numeric_limits<int64_t>::max()), std::nullopt) << text;
  }
  EXPECT_EQ(ParseNumber("10", 9), std::nullopt);
}

}  // namespace
}  // namespace lockkeeper::text
