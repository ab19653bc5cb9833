// SPDX-License-Identifier: Apache-2.0
#include "text/near_miss.h"

#include <gtest/gtest.h>

namespace lockkeeper::text {
namespace {

const std::vector<std::string>& Known() {
  static const auto& known = *new std::vector<std::string>{"listen", "drains", "connections"};
  return known;
}

TEST(NearMissTest, FindsSlipsOfTheFingers) {
  EXPECT_EQ(NearMiss("listne", Known()), "listen");
  EXPECT_EQ(NearMiss("lisen", Known()), "listen");
  EXPECT_EQ(NearMiss("listten", Known()), "listen");
  EXPECT_EQ(NearMiss("drain", Known()), "drains");
  EXPECT_EQ(NearMiss("conections", Known()), "connections");
}

TEST(NearMissTest, LeavesOtherWordsAlone) {
  EXPECT_EQ(NearMiss("threads", Known()), std::nullopt);
  EXPECT_EQ(NearMiss("", Known()), std::nullopt);
  EXPECT_EQ(NearMiss("ls", Known()), std::nullopt);
  EXPECT_EQ(NearMiss(std::string(1'000'000, 'x'), Known()), std::nullopt);
}

TEST(NearMissTest, CountsASwapOfNeighboursAsOneSlip) {
  EXPECT_EQ(NearMiss("abc", {"acb"}), "acb");
  EXPECT_EQ(NearMiss("abc", {"cab"}), std::nullopt);
}

TEST(NearMissTest, PrefersTheNearest) {
  EXPECT_EQ(NearMiss("aaaab", {"aaacc", "aaaaa", "aaaac"}), "aaaaa");
}

}  // namespace
}  // namespace lockkeeper::text
