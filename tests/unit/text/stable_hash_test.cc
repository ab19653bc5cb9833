// SPDX-License-Identifier: Apache-2.0
#include "text/stable_hash.h"

#include <gtest/gtest.h>

namespace lockkeeper::text {
namespace {

// The published test vectors of 64-bit FNV-1a.
TEST(StableHashTest, IsFnv1a) {
  EXPECT_EQ(StableHash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(StableHash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(StableHash("foobar"), 0x85944171f73967e8U);
}

TEST(StableHashTest, TakesBytesBeyondAsciiAsTheyAre) {
  EXPECT_EQ(StableHash("\xff"), (0xcbf29ce484222325U ^ 0xffU) * 0x100000001b3U);
}

}  // namespace
}  // namespace lockkeeper::text
