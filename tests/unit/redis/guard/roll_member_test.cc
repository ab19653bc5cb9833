// SPDX-License-Identifier: Apache-2.0
//
// When a daemon on the roll may begin, what its beats carry, and when all have restored.
#include "redis/guard/roll_member.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using core::Millis;
using core::NodeTime;

constexpr NodeTime kNow{1'795'292'917'000'000};
constexpr Millis kIsolation = 6s;
constexpr int64_t kEpoch = 3;

NodeTime Ago(Millis time) { return {kNow.micros - core::Micros(time).count()}; }

std::string IdOf(char digit) { return std::string(16, digit); }

class RollMemberTest : public testing::Test {
 protected:
  // The daemon came onto the roll with version 5.
  static RollEntry Own() { return {.id = IdOf('1'), .beat = kNow, .joined = 5}; }

  // Another one was there before; its last beat was `ago`, and it has read the version `seen`.
  static RollEntry Other(char digit, int64_t seen, Millis ago = 0ms) {
    return {.id = IdOf(digit),
            .beat = Ago(ago),
            .seen = seen,
            .joined = 1,
            .state = RollEntry::State::kActive};
  }
  static RollEntry Left(char digit) {
    RollEntry entry = Other(digit, 0);
    entry.state = RollEntry::State::kLeft;
    return entry;
  }

  static DaemonRoll RollOf(std::vector<RollEntry> entries, int64_t epoch = kEpoch) {
    return {.version = 5, .epoch = epoch, .entries = std::move(entries)};
  }

  // It has written its beat, and this is the roll then.
  void Write(std::vector<RollEntry> entries, int64_t epoch = kEpoch) {
    member_.Read(RollOf(std::move(entries), epoch), /*wrote=*/true, kNow, kIsolation);
  }
  void Look(std::vector<RollEntry> entries, int64_t epoch = kEpoch) {
    member_.Read(RollOf(std::move(entries), epoch), /*wrote=*/false, kNow, kIsolation);
  }

  // A roll on which both daemons have restored what they had told, and whose quarantine may end.
  static DaemonRoll RestoredRoll() {
    DaemonRoll roll = RollOf({Own(), Other('2', 5)});
    roll.may_end_early = true;
    for (RollEntry& entry : roll.entries) entry.restored = kEpoch;
    return roll;
  }
  void WriteRoll(DaemonRoll roll) {
    member_.Read(std::move(roll), /*wrote=*/true, kNow, kIsolation);
  }

  RollMember member_{IdOf('1')};
};

TEST_F(RollMemberTest, DaemonThatIsNotOnTheRollIsNotAdmitted) {
  EXPECT_FALSE(member_.admitted());
  Look({Other('2', 9)});
  EXPECT_FALSE(member_.admitted());
}

TEST_F(RollMemberTest, AloneItIsAdmittedAtOnce) {
  Write({Own()});
  EXPECT_TRUE(member_.admitted());
}

TEST_F(RollMemberTest, AnotherOneHasToHaveReadTheVersionWithIt) {
  Write({Own(), Other('2', 4)});
  EXPECT_FALSE(member_.admitted());
  Write({Own(), Other('2', 5)});
  EXPECT_TRUE(member_.admitted());
}

TEST_F(RollMemberTest, OneOfSeveralIsEnough) {
  Write({Own(), Other('2', 4), Other('3', 5)});
  EXPECT_TRUE(member_.admitted());
}

// Else two that come at once would admit each other, and nobody would know of them.
TEST_F(RollMemberTest, ReadingOfADaemonThatIsNotAdmittedDoesNotCount) {
  Write({Own(), Other('2', 0)});
  EXPECT_EQ(member_.SeenIn(kEpoch), 0) << "though it has read version 5";
  Write({Own(), Other('2', 5)});
  EXPECT_EQ(member_.SeenIn(kEpoch), 5);
}

TEST_F(RollMemberTest, SingleOtherOneThatIsSilentDoesNotHoldItUp) {
  Write({Own(), Other('2', 4, 3s)});
  EXPECT_FALSE(member_.admitted()) << "a beat may be late";
  Write({Own(), Other('2', 4, 3'001ms)});
  EXPECT_TRUE(member_.admitted()) << "alone it cannot end a quarantine early";
}

TEST_F(RollMemberTest, TwoThatAreSilentHoldItUpUntilTheyAreStale) {
  Write({Own(), Other('2', 4, 4s), Other('3', 4, 4s)});
  EXPECT_FALSE(member_.admitted());
  const Millis silent = SilentAfter(kIsolation);
  Write({Own(), Other('2', 4, silent + 1ms), Other('3', 4, silent)});
  EXPECT_FALSE(member_.admitted());
  Write({Own(), Other('2', 4, silent + 1ms), Other('3', 4, silent + 1ms)});
  EXPECT_TRUE(member_.admitted());
}

// A server that was replaced may answer a daemon for the isolation, and what it has told there it
// restores if it comes within StaleAfter.
TEST_F(RollMemberTest, WhoIsSilentIsStaleWhicheverServerItIsConnectedTo) {
  EXPECT_GE(StaleAfter(kIsolation), kIsolation);
  EXPECT_GE(SilentAfter(kIsolation), StaleAfter(kIsolation) + kIsolation);
}

TEST_F(RollMemberTest, ThoseThatHaveLeftDoNotHoldItUp) {
  Write({Own(), Left('2'), Left('3')});
  EXPECT_TRUE(member_.admitted());
}

// Nobody has begun, as after the roll was lost: else they would wait for each other for ever.
TEST_F(RollMemberTest, ThoseThatJoinTooDoNotHoldItUp) {
  RollEntry joining = Other('2', 0);
  joining.state = RollEntry::State::kJoins;
  Write({Own(), joining});
  EXPECT_TRUE(member_.admitted());
}

TEST_F(RollMemberTest, OneThatHasLeftIsNoWitness) {
  RollEntry left = Left('3');
  left.seen = 5;
  Write({Own(), Other('2', 4), left});
  EXPECT_FALSE(member_.admitted());
}

TEST_F(RollMemberTest, WhoFellOffTheRollIsAdmittedAgainOnlyOnceOthersHaveReadThat) {
  Write({Own(), Other('2', 5)});
  ASSERT_TRUE(member_.admitted());
  Look({Other('2', 5)});
  EXPECT_FALSE(member_.admitted());
  RollEntry again = Own();
  again.joined = 6;
  Write({again, Other('2', 5)});
  EXPECT_FALSE(member_.admitted());
  Write({again, Other('2', 6)});
  EXPECT_TRUE(member_.admitted());
}

// Between two of its beats it was dropped, and has joined again with the second one.
TEST_F(RollMemberTest, WhoHasJoinedAnewIsNotAdmittedByWhatWasReadBefore) {
  Write({Own(), Other('2', 5)});
  ASSERT_TRUE(member_.admitted());
  RollEntry again = Own();
  again.joined = 6;
  Write({again, Other('2', 5)});
  EXPECT_FALSE(member_.admitted());
}

TEST_F(RollMemberTest, OnceAdmittedItStaysSoThoughTheOtherOneReadsNoMore) {
  Write({Own(), Other('2', 5)});
  Write({Own(), Other('2', 0)}, kEpoch + 1);
  EXPECT_TRUE(member_.admitted());
}

TEST_F(RollMemberTest, SeenIsOfTheEpochInWhichItWroteItsBeat) {
  Write({Own()});
  EXPECT_EQ(member_.SeenIn(kEpoch), 5);
  EXPECT_EQ(member_.SeenIn(kEpoch + 1), 0);
  Look({Own()}, kEpoch + 1);
  EXPECT_EQ(member_.SeenIn(kEpoch + 1), 0) << "it has only looked";
  Write({Own()}, kEpoch + 1);
  EXPECT_EQ(member_.SeenIn(kEpoch + 1), 5);
  EXPECT_EQ(member_.SeenIn(kEpoch), 0);
}

TEST_F(RollMemberTest, FirstBeatOfAnEpochTellsWhomItKnew) {
  EXPECT_EQ(member_.KnownIn(kEpoch), "") << "nobody yet";
  Write({Own(), Other('2', 5), Left('3')});
  EXPECT_EQ(member_.KnownIn(kEpoch), "") << "it would bring back who was dropped";
  EXPECT_EQ(member_.KnownIn(kEpoch + 1), IdOf('1') + IdOf('2')) << "without those that have left";
}

TEST_F(RollMemberTest, WhomThePromotedServersRollLacksIsKnownStill) {
  Write({Own(), Other('2', 5), Other('4', 5)});
  Look({Own(), Other('2', 5)}, kEpoch + 1);
  EXPECT_EQ(member_.KnownIn(kEpoch + 1), IdOf('1') + IdOf('2') + IdOf('4'));
  Write({Own(), Other('2', 5)}, kEpoch + 1);
  EXPECT_EQ(member_.KnownIn(kEpoch + 1), "");
}

TEST_F(RollMemberTest, OthersWaitToHearThatItHasReadANewVersion) {
  Write({Own()});
  EXPECT_TRUE(member_.HasNewsFor(kEpoch));
  RollEntry own = Own();
  own.seen = 5;
  Write({own});
  EXPECT_FALSE(member_.HasNewsFor(kEpoch));
  EXPECT_FALSE(member_.HasNewsFor(kEpoch + 1));
}

TEST_F(RollMemberTest, AllHaveRestored) {
  WriteRoll(RestoredRoll());
  EXPECT_TRUE(member_.AllRestored(kEpoch));
  EXPECT_FALSE(member_.AllRestored(kEpoch + 1));
}

TEST_F(RollMemberTest, QuarantineThatMayNotEndEarlyDoesNot) {
  DaemonRoll roll = RestoredRoll();
  roll.may_end_early = false;
  WriteRoll(roll);
  EXPECT_FALSE(member_.AllRestored(kEpoch));
}

// It may have told something that is not in the roll which it reads.
TEST_F(RollMemberTest, RollThatItHasNotWrittenItsBeatIntoDoesNotCount) {
  member_.Read(RestoredRoll(), /*wrote=*/false, kNow, kIsolation);
  EXPECT_FALSE(member_.AllRestored(kEpoch));
}

TEST_F(RollMemberTest, OneThatHasNotRestoredYetIsWaitedFor) {
  DaemonRoll roll = RestoredRoll();
  roll.entries[1].restored = kEpoch - 1;
  WriteRoll(roll);
  EXPECT_FALSE(member_.AllRestored(kEpoch));
}

// What it had told nobody restores.
TEST_F(RollMemberTest, OneThatHasLeftBlocksTheEarlyEnd) {
  DaemonRoll roll = RestoredRoll();
  roll.entries.push_back(Left('3'));
  WriteRoll(roll);
  EXPECT_FALSE(member_.AllRestored(kEpoch));
}

TEST_F(RollMemberTest, RollThatWasEmptiedDoesNotEndAQuarantine) {
  WriteRoll({});
  EXPECT_FALSE(member_.AllRestored(kEpoch));
  EXPECT_FALSE(member_.admitted());
}

TEST_F(RollMemberTest, WhoIsNotAdmittedEndsNoQuarantine) {
  DaemonRoll roll = RestoredRoll();
  roll.entries[1].seen = 4;
  WriteRoll(roll);
  ASSERT_FALSE(member_.admitted());
  EXPECT_FALSE(member_.AllRestored(kEpoch));
}

}  // namespace
}  // namespace lockkeeper::redis
