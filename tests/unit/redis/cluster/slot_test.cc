// SPDX-License-Identifier: Apache-2.0
#include "redis/cluster/slot.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

// The values are those of CLUSTER KEYSLOT.
TEST(SlotTest, KeysFallIntoTheSlotsOfTheSpecification) {
  EXPECT_EQ(SlotOf("123456789"), 0x31C3);
  EXPECT_EQ(SlotOf("foo"), 12'182);
  EXPECT_EQ(SlotOf(""), 0);
}

TEST(SlotTest, OnlyTheHashTagCounts) {
  EXPECT_EQ(SlotOf("{user1000}.following"), SlotOf("user1000"));
  EXPECT_EQ(SlotOf("lk:{17}{my lock}:line"), SlotOf("17"));
  EXPECT_EQ(SlotOf("foo{bar}{zap}"), SlotOf("bar"));
  EXPECT_EQ(SlotOf("foo{{bar}}zap"), SlotOf("{bar"));
}

TEST(SlotTest, EmptyOrOpenTagIsNone) {
  EXPECT_NE(SlotOf("foo{}{bar}"), SlotOf("bar"));
  EXPECT_NE(SlotOf("foo{}{bar}"), SlotOf(""));
  EXPECT_NE(SlotOf("foo{bar"), SlotOf("bar"));
}

// A Cluster of n primaries gives each an equal range.
TEST(PartTest, EachPrimaryHasItsShareOfTheParts) {
  std::set<std::string> tags;
  for (size_t part = 0; part < kClusterParts; ++part) {
    const std::string& tag = TagOfPart(part);
    tags.insert(tag);
    EXPECT_EQ(SlotOf("lk:{" + tag + "}store") / (kSlots / kClusterParts), part);
  }
  EXPECT_EQ(tags.size(), kClusterParts);
  for (const size_t primaries : {2u, 3u, 4u, 5u, 8u, 16u}) {
    for (size_t i = 0; i < primaries; ++i) {
      size_t parts = 0;
      for (size_t part = 0; part < kClusterParts; ++part) {
        const size_t slot = SlotOf(TagOfPart(part));
        const bool is_of_it = slot >= kSlots * i / primaries && slot < kSlots * (i + 1) / primaries;
        parts += is_of_it ? 1 : 0;
      }
      EXPECT_GE(parts + 1, kClusterParts / primaries) << i << " of " << primaries;
      EXPECT_LE(parts, kClusterParts / primaries + 2) << i << " of " << primaries;
    }
  }
}

// Daemons of any version must agree: a lock belongs to one part for ever.
TEST(PartTest, TagsNeverChange) {
  EXPECT_EQ(TagOfPart(0), "10");
  EXPECT_EQ(TagOfPart(1), "3");
  EXPECT_EQ(TagOfPart(15), "40");
}

}  // namespace
}  // namespace lockkeeper::redis
