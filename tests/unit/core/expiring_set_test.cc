// SPDX-License-Identifier: Apache-2.0
#include "core/expiring_set.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;

TEST(ExpiringSetTest, MemberIsForgottenAfterItsLifetime) {
  ExpiringSet<std::string> set{seconds(3)};
  const Instant begin{};
  set.Add("a", begin);

  EXPECT_TRUE(set.Has("a", begin + seconds(2)));
  EXPECT_FALSE(set.Has("a", begin + seconds(3)));
  EXPECT_FALSE(set.Has("b", begin));
}

TEST(ExpiringSetTest, MemberThatIsAddedAgainStaysLonger) {
  ExpiringSet<std::string> set{seconds(3)};
  const Instant begin{};
  set.Add("a", begin);
  set.Add("a", begin + seconds(2));
  set.Add("b", begin + seconds(4));

  EXPECT_TRUE(set.Has("a", begin + seconds(4))) << "its first time was over as b came";
  EXPECT_FALSE(set.Has("a", begin + seconds(5)));
}

TEST(ExpiringSetTest, MemberIsTakenOnce) {
  ExpiringSet<std::string> set{seconds(3)};
  const Instant begin{};
  set.Add("a", begin);

  EXPECT_TRUE(set.Take("a", begin));
  EXPECT_FALSE(set.Take("a", begin));
  set.Add("a", begin);
  EXPECT_FALSE(set.Take("a", begin + seconds(3))) << "it is over";
}

TEST(ExpiringSetTest, MemberThatWasTakenAndAddedAgainStaysForItsNewLifetime) {
  ExpiringSet<std::string> set{seconds(3)};
  const Instant begin{};
  set.Add("a", begin);
  set.Take("a", begin + seconds(1));
  set.Add("a", begin + seconds(2));
  set.Add("b", begin + seconds(4));

  EXPECT_TRUE(set.Has("a", begin + seconds(4)));
  EXPECT_FALSE(set.Has("a", begin + seconds(5)));
}

}  // namespace
}  // namespace lockkeeper::core
