// SPDX-License-Identifier: Apache-2.0
#include "redis/format/lock_record.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

using core::LeaseId;

// Known to the records of a store that outlives the daemon.
TEST(EncodeLeaseIdTest, IsTheIdAndAlwaysTheSameDigest) {
  const auto id = LeaseId::Parse("aaaa9c4e5b6d47f08192a3b4c5d6e7f9");

  EXPECT_EQ(EncodeLeaseId(*id), "aaaa9c4e5b6d47f08192a3b4c5d6e7f9 rJXFp5f5");
}

TEST(EncodeLeaseIdTest, DigestIsEightCharactersThatAreNoSpace) {
  for (uint64_t bits = 0; bits < 10'000; ++bits) {
    const std::string digest = EncodeLeaseId(LeaseId::FromBits(bits, ~bits)).substr(33);

    ASSERT_THAT(digest, testing::MatchesRegex("[A-Za-z0-9_-]{8}"));
  }
}

// Of a client that counts, of UUIDs that differ in their time only, of ids with few bits: no two
// have the same digest, and no character of it stays behind.
TEST(EncodeLeaseIdTest, DigestsOfIdsThatAreAlikeDiffer) {
  constexpr uint64_t kIds = 20'000;
  std::set<std::string> digests;
  uint64_t ids = 0;
  const auto add = [&](uint64_t high, uint64_t low) {
    digests.insert(EncodeLeaseId(LeaseId::FromBits(high, low)).substr(33));
    ++ids;
  };
  for (uint64_t i = 1; i <= kIds; ++i) {
    add(0, i);
    add(i << 16, 0x8123456789abcdef);
    add(i, i);
    add(i << 44, i << 44);
  }

  EXPECT_EQ(digests.size(), ids);
  for (size_t column = 0; column < 8; ++column) {
    std::set<char> characters;
    for (const std::string& digest : digests) characters.insert(digest[column]);
    EXPECT_EQ(characters.size(), 64) << column;
  }
}

}  // namespace
}  // namespace lockkeeper::redis
