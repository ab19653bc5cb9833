// SPDX-License-Identifier: Apache-2.0
#include "core/types.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace lockkeeper::core {
namespace {

constexpr char kDigits[] = "0123456789abcdeffedcba9876543210";
constexpr char kUuid[] = "01234567-89ab-cdef-fedc-ba9876543210";

TEST(LeaseIdTest, ThirtyTwoHexDigitsAreRead) {
  const auto id = LeaseId::Parse(kDigits);

  ASSERT_TRUE(id);
  EXPECT_EQ(id->digits(), kDigits);
}

TEST(LeaseIdTest, UuidIsTheSameIdAsItsDigits) {
  EXPECT_EQ(LeaseId::Parse(kUuid), LeaseId::Parse(kDigits));
}

TEST(LeaseIdTest, CaseDoesNotMatter) {
  EXPECT_EQ(LeaseId::Parse("0123456789ABCDEFFEDCBA9876543210"), LeaseId::Parse(kDigits));
  EXPECT_EQ(LeaseId::Parse("01234567-89AB-CDEF-FEDC-BA9876543210"), LeaseId::Parse(kDigits));
}

TEST(LeaseIdTest, EverythingElseIsNone) {
  const std::string digits = kDigits;
  const std::string uuid = kUuid;
  for (const std::string& text :
       {std::string(), digits.substr(1), digits + "0", digits + "0000", std::string(32, 'g'),
        std::string(32, ' '), " " + digits.substr(1), digits.substr(1) + "\n",
        std::string(32, '\0'), uuid.substr(1), uuid + "0", std::string(36, 'a'),
        std::string(36, '-'), "{" + digits + "}", "0x" + digits.substr(2),
        // Dashes, but one of them elsewhere.
        std::string("012345678-9ab-cdef-fedc-ba9876543210"),
        std::string("01234567-89ab-cdef-fedcba-9876543210"),
        std::string("01234567_89ab_cdef_fedc_ba9876543210")}) {
    EXPECT_FALSE(LeaseId::Parse(text)) << "'" << text << "'";
  }
}

TEST(LeaseIdTest, BitsMakeDigitsInOrder) {
  EXPECT_EQ(LeaseId::FromBits(0x0123456789abcdef, 0xfedcba9876543210).digits(), kDigits);
  EXPECT_EQ(LeaseId::FromBits(0, 1).digits(), std::string(31, '0') + "1");
}

// The id is a credential: logs and messages print it through this operator.
TEST(LeaseIdTest, PrintingShowsTheFirstEightDigitsOnly) {
  std::ostringstream out;
  out << *LeaseId::Parse(kDigits);

  EXPECT_EQ(out.str(), "01234567...");
  EXPECT_EQ(LeaseId::Parse(kDigits)->masked(), "01234567...");
}

TEST(KeeperTest, HoldsDaemonAndNumber) {
  EXPECT_EQ(Keeper(0xabc, 0x12).digits(), "0000000000000abc0000000000000012");
  EXPECT_EQ(Keeper().digits(), std::string(32, '0'));
  EXPECT_NE(Keeper(1, 2), Keeper(2, 1));
}

TEST(KeeperTest, DigitsAreReadBack) {
  const Keeper keeper(0xabc, 0x12);

  EXPECT_EQ(Keeper::Parse(keeper.digits()), keeper);
  EXPECT_FALSE(Keeper::Parse(kUuid));
  EXPECT_FALSE(Keeper::Parse("x"));
}

TEST(Hex16Test, HasSixteenDigits) {
  EXPECT_EQ(Hex16(0), "0000000000000000");
  EXPECT_EQ(Hex16(0xfedcba9876543210), "fedcba9876543210");
}

TEST(NodeTimeTest, IsOrdered) {
  EXPECT_LT(NodeTime{1}, NodeTime{2});
  EXPECT_LT(FencingToken{1}, FencingToken{2});
}

}  // namespace
}  // namespace lockkeeper::core
