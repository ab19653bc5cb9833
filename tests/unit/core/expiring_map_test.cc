// SPDX-License-Identifier: Apache-2.0
#include "core/expiring_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;
using testing::IsNull;
using testing::Optional;
using testing::Pointee;

using Map = ExpiringMap<std::string, int>;

TEST(ExpiringMapTest, EntryIsForgottenAfterItsLifetime) {
  Map map{seconds(3)};
  const Instant begin{};
  map.Put("a", 1, begin);

  EXPECT_THAT(map.Find("a", begin + seconds(2)), Pointee(1));
  EXPECT_THAT(map.Find("a", begin + seconds(3)), IsNull());
  EXPECT_THAT(map.Find("b", begin), IsNull());
}

TEST(ExpiringMapTest, EntryThatIsPutAgainStaysLongerWithItsNewValue) {
  Map map{seconds(3)};
  const Instant begin{};
  map.Put("a", 1, begin);
  map.Put("a", 2, begin + seconds(2));
  map.Put("b", 3, begin + seconds(4));

  EXPECT_THAT(map.Find("a", begin + seconds(4)), Pointee(2)) << "its first time was over as b came";
  EXPECT_THAT(map.Find("a", begin + seconds(5)), IsNull());
}

TEST(ExpiringMapTest, EntryIsTakenOnce) {
  Map map{seconds(3)};
  const Instant begin{};
  map.Put("a", 1, begin);

  EXPECT_THAT(map.Take("a", begin), Optional(1));
  EXPECT_FALSE(map.Take("a", begin));
  map.Put("a", 2, begin);
  EXPECT_FALSE(map.Take("a", begin + seconds(3))) << "it is over";
}

TEST(ExpiringMapTest, EntryThatWasTakenAndPutAgainStaysForItsNewLifetime) {
  Map map{seconds(3)};
  const Instant begin{};
  map.Put("a", 1, begin);
  map.Take("a", begin + seconds(1));
  map.Put("a", 2, begin + seconds(2));
  map.Put("b", 3, begin + seconds(4));

  EXPECT_THAT(map.Find("a", begin + seconds(4)), Pointee(2));
  EXPECT_THAT(map.Find("a", begin + seconds(5)), IsNull());
}

}  // namespace
}  // namespace lockkeeper::core
