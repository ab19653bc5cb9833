// SPDX-License-Identifier: Apache-2.0
#include "core/expected_acquires.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lockkeeper::core {
namespace {

LeaseId Id(uint64_t number) { return LeaseId::FromBits(0, number); }

// Counts the lease ids that are looked at.
struct CountingSameId {
  static inline int looked_at = 0;
  bool operator()(const LeaseId& a, const LeaseId& b) const {
    ++looked_at;
    return a == b;
  }
};

TEST(ExpectedAcquiresTest, ReleaseIsNotedOnAllAcquiresOfTheLeaseIdAndOnNoOther) {
  ExpectedAcquires<> expected;
  for (uint64_t i = 1; i <= 3; ++i) expected.Add(Keeper(1, i), Id(7));
  expected.Add(Keeper(1, 4), Id(8));

  expected.Release(Id(7));

  for (uint64_t i = 1; i <= 3; ++i) EXPECT_TRUE(expected.Find(Keeper(1, i))->released);
  EXPECT_FALSE(expected.Find(Keeper(1, 4))->released);
}

// Whichever of them the store answers first: the newest, the oldest, or one between them.
TEST(ExpectedAcquiresTest, ReleaseReachesTheRetriesThatAreStillExpected) {
  for (uint64_t answered = 1; answered <= 3; ++answered) {
    ExpectedAcquires<> expected;
    for (uint64_t i = 1; i <= 3; ++i) expected.Add(Keeper(1, i), Id(7));
    EXPECT_FALSE(expected.Take(Keeper(1, answered))->released);

    expected.Release(Id(7));

    for (uint64_t i = 1; i <= 3; ++i) {
      const auto news = expected.Take(Keeper(1, i));
      ASSERT_EQ(news.has_value(), i != answered);
      if (i == answered) continue;
      EXPECT_TRUE(news->released) << "of " << i << " after " << answered;
    }
    expected.Release(Id(7));
    expected.Add(Keeper(1, 9), Id(7));
    EXPECT_FALSE(expected.Take(Keeper(1, 9))->released) << "it came after the release";
  }
}

TEST(ExpectedAcquiresTest, ReleaseDoesNotLookAtTheAcquiresOfOthers) {
  ExpectedAcquires<CountingSameId> expected;
  for (uint64_t i = 1; i <= 10'000; ++i) expected.Add(Keeper(1, i), Id(i));
  CountingSameId::looked_at = 0;

  for (uint64_t i = 1; i <= 100; ++i) expected.Release(Id(i));

  EXPECT_TRUE(expected.Find(Keeper(1, 100))->released);
  EXPECT_GE(CountingSameId::looked_at, 100);
  EXPECT_LT(CountingSameId::looked_at, 1'000);
}

}  // namespace
}  // namespace lockkeeper::core
