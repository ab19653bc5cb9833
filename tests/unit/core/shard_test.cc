// SPDX-License-Identifier: Apache-2.0
#include "core/shard.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockkeeper::core {
namespace {

// The published test vectors of 64-bit FNV-1a. A lock must stay on its shard from start to start.
TEST(HashOfNameTest, IsFnv1a) {
  EXPECT_EQ(HashOfName(""), 0xcbf29ce484222325U);
  EXPECT_EQ(HashOfName("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(HashOfName("foobar"), 0x85944171f73967e8U);
}

TEST(HashOfNameTest, TakesBytesBeyondAsciiAsTheyAre) {
  EXPECT_EQ(HashOfName("\xff"), (0xcbf29ce484222325U ^ 0xffU) * 0x100000001b3U);
}

}  // namespace
}  // namespace lockkeeper::core
