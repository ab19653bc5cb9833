// SPDX-License-Identifier: Apache-2.0
#include "redis/format/daemon_roll.h"

#include <string>

#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

const std::string kFirst = "1 0000000002 0000000003 E\n";
const std::string kText = kFirst +
                          "1111111111111111 1795292917098722 0000000002 0000000001 0000000003 A\n"
                          "00000000000000ab 1795292917123857 0000000000 0000000002 0000000000 L\n";

TEST(DaemonRollTest, IsReadAsTheScriptWritesIt) {
  const DaemonRoll roll = ParseRoll(kText);

  EXPECT_EQ(roll.version, 2);
  EXPECT_EQ(roll.epoch, 3);
  EXPECT_TRUE(roll.may_end_early);
  ASSERT_EQ(roll.entries.size(), 2U);
  const RollEntry& first = roll.entries[0];
  EXPECT_EQ(first.id, "1111111111111111");
  EXPECT_EQ(first.beat.micros, 1'795'292'917'098'722);
  EXPECT_EQ(first.seen, 2);
  EXPECT_EQ(first.joined, 1);
  EXPECT_EQ(first.restored, 3);
  EXPECT_EQ(first.state, RollEntry::State::kActive);
  EXPECT_EQ(roll.entries[1].state, RollEntry::State::kLeft);
}

TEST(DaemonRollTest, DaemonIsFoundByItsId) {
  const DaemonRoll roll = ParseRoll(kText);
  EXPECT_EQ(roll.Find("00000000000000ab"), &roll.entries[1]);
  EXPECT_EQ(roll.Find("00000000000000a"), nullptr);
  EXPECT_EQ(DaemonRoll().Find("1111111111111111"), nullptr);
}

TEST(DaemonRollTest, QuarantineOfARollWithoutTheMarkDoesNotEndEarly) {
  EXPECT_FALSE(ParseRoll("1 0000000002 0000000003 -\n").may_end_early);
}

TEST(DaemonRollTest, TextThatIsNoRollIsAnEmptyOne) {
  for (const std::string& text :
       {std::string(), std::string("another type"), std::string("1"), std::string("1 2 3"),
        "2" + kText.substr(1), std::string("1 x 0000000003 E\n"), std::string("\n\n\n")}) {
    const DaemonRoll roll = ParseRoll(text);
    EXPECT_EQ(roll.version, 0) << text;
    EXPECT_EQ(roll.epoch, 0) << text;
    EXPECT_FALSE(roll.may_end_early) << text;
    EXPECT_TRUE(roll.entries.empty()) << text;
  }
}

}  // namespace
}  // namespace lockkeeper::redis
