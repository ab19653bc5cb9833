// SPDX-License-Identifier: Apache-2.0
//
// What the script of the marker does to the roll of the daemons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "redis/format/daemon_roll.h"
#include "redis/format/lock_record.h"
#include "redis/scripts.h"
#include "scripts/twin_servers.h"

namespace lockkeeper::support {
namespace {

using redis::DaemonRoll;
using redis::RollEntry;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kRollKey[] = "lk:daemons";

std::string IdOf(char digit) { return std::string(16, digit); }

// What one daemon gives the script.
struct RollBeat {
  char daemon = '1';
  int64_t seen = 0;
  int64_t restored = 0;
  int64_t epoch = 1;
  bool may_end_early = false;
  std::string known;           // Ids, one behind the other.
  int64_t dropped_before = 0;  // Time of the node's clock.
  bool leaves = false;
};

class RollScriptTest : public testing::TestWithParam<std::string> {
 protected:
  RollScriptTest() { servers_.Run({"SCRIPT", "LOAD", redis::kMarkerScript.text}); }

  redis::Reply Call(const RollBeat& beat, std::string_view replacement) {
    const std::string seen = redis::Digits(beat.seen, 10);
    const std::string restored = redis::Digits(beat.restored, 10);
    const std::string epoch = redis::Digits(beat.epoch, 10);
    const std::string dropped = redis::Digits(beat.dropped_before, 16);
    const std::string id = IdOf(beat.daemon);
    const std::string expected = marker_;
    return servers_.Run({"EVALSHA", redis::kMarkerScript.sha1, "2", "lk:store", kRollKey, expected,
                         replacement, "0", "0", "9999999999999999", id, seen, restored, epoch,
                         beat.may_end_early ? "E" : "-", beat.known, dropped,
                         beat.leaves ? "L" : "A"});
  }

  // Writes the marker, and answers the roll that the daemon reads then.
  DaemonRoll Write(const RollBeat& beat) {
    const redis::Reply reply = Call(beat, "a marker");
    marker_ = "a marker";
    EXPECT_EQ(reply.items.size(), 3U);
    const std::string text = reply.items.size() == 3 ? reply.items[2].text : "";
    EXPECT_EQ(text, servers_.Run({"GET", kRollKey}).text) << "it answers what it has written";
    return redis::ParseRoll(text);
  }

  DaemonRoll Roll() { return redis::ParseRoll(servers_.Run({"GET", kRollKey}).text); }

  static std::vector<std::string> IdsOf(const DaemonRoll& roll) {
    std::vector<std::string> ids;
    ids.reserve(roll.entries.size());
    for (const RollEntry& entry : roll.entries) ids.push_back(entry.id);
    return ids;
  }
  static RollEntry EntryOf(const DaemonRoll& roll, char daemon) {
    const RollEntry* const entry = roll.Find(IdOf(daemon));
    EXPECT_NE(entry, nullptr) << daemon;
    return entry == nullptr ? RollEntry() : *entry;
  }

  TwinServers servers_{GetParam()};
  std::string marker_;  // That is there.
};

TEST_P(RollScriptTest, DaemonComesOntoTheRollWithItsFirstBeat) {
  const DaemonRoll roll = Write({.daemon = '1', .seen = 9, .epoch = 4});

  EXPECT_EQ(roll.version, 1);
  EXPECT_EQ(roll.epoch, 4);
  EXPECT_FALSE(roll.may_end_early);
  ASSERT_THAT(IdsOf(roll), ElementsAre(IdOf('1')));
  EXPECT_EQ(roll.entries[0].beat, servers_.Now());
  EXPECT_EQ(roll.entries[0].joined, 1);
  EXPECT_EQ(roll.entries[0].seen, 0) << "of this epoch it has read nothing";
  EXPECT_EQ(roll.entries[0].state, RollEntry::State::kActive);
}

TEST_P(RollScriptTest, VersionRisesWhenADaemonComesAndNotWithABeat) {
  Write({.daemon = '1'});
  const core::NodeTime before = servers_.Now();
  servers_.AdvanceBy(core::Millis(1'000));
  const DaemonRoll joined = Write({.daemon = '2'});
  EXPECT_EQ(joined.version, 2);
  EXPECT_EQ(EntryOf(joined, '2').joined, 2);
  EXPECT_EQ(EntryOf(joined, '1').beat, before) << "that of another one stays";

  servers_.AdvanceBy(core::Millis(1'000));
  const DaemonRoll beaten = Write({.daemon = '1', .seen = 2});

  EXPECT_EQ(beaten.version, 2);
  EXPECT_EQ(EntryOf(beaten, '1').seen, 2);
  EXPECT_EQ(EntryOf(beaten, '1').joined, 1);
  EXPECT_EQ(EntryOf(beaten, '1').beat, servers_.Now());
}

TEST_P(RollScriptTest, LookIsAnsweredWithTheRollAndWritesNothing) {
  const redis::Reply none = Call({}, "");
  ASSERT_EQ(none.items.size(), 3U);
  EXPECT_EQ(none.items[2].text, "");
  Write({.daemon = '1'});
  const std::string text = servers_.Run({"GET", kRollKey}).text;

  EXPECT_EQ(Call({.daemon = '2'}, "").items.at(2).text, text);

  EXPECT_EQ(servers_.Run({"GET", kRollKey}).text, text);
}

TEST_P(RollScriptTest, BeatThatIsRefusedDoesNotChangeTheRoll) {
  Write({.daemon = '1'});
  const std::string text = servers_.Run({"GET", kRollKey}).text;
  marker_ = "another marker";

  EXPECT_EQ(Call({.daemon = '2'}, "a third marker").items.at(2).text, text);

  EXPECT_EQ(servers_.Run({"GET", kRollKey}).text, text);
}

TEST_P(RollScriptTest, DaemonsThatHaveNoRollLeaveItAlone) {
  Write({.daemon = '1'});
  const std::string text = servers_.Run({"GET", kRollKey}).text;

  const redis::Reply reply = servers_.Run({"EVALSHA", redis::kMarkerScript.sha1, "1", "lk:store",
                                           marker_, "a marker", "0", "0", "9999999999999999"});

  EXPECT_EQ(reply.items.size(), 2U);
  EXPECT_EQ(servers_.Run({"GET", kRollKey}).text, text);
}

// What was read before the epoch began admits nobody: it was another server's roll.
TEST_P(RollScriptTest, NewEpochForgetsWhatWasReadAndWhenDaemonsBeat) {
  Write({.daemon = '1', .seen = 1});
  Write({.daemon = '2'});
  Write({.daemon = '2', .seen = 2});
  Write({.daemon = '1', .seen = 2});
  servers_.AdvanceBy(core::Millis(40'000));

  const int64_t long_ago = servers_.Now().micros - 1'000'000;
  const DaemonRoll roll = Write({.daemon = '1', .seen = 2, .epoch = 2, .dropped_before = long_ago});

  EXPECT_EQ(roll.epoch, 2);
  for (const char daemon : {'1', '2'}) {
    EXPECT_EQ(EntryOf(roll, daemon).seen, 0) << daemon;
    EXPECT_EQ(EntryOf(roll, daemon).beat, servers_.Now()) << daemon << " is not dropped now";
  }
}

TEST_P(RollScriptTest, EpochMayEndEarlyIfTwoWereOnTheRoll) {
  Write({.daemon = '1'});
  Write({.daemon = '2'});
  EXPECT_FALSE(Roll().may_end_early);

  EXPECT_TRUE(Write({.daemon = '1', .epoch = 2, .may_end_early = true}).may_end_early);
  EXPECT_TRUE(Write({.daemon = '2', .epoch = 2}).may_end_early) << "a beat leaves it";
  EXPECT_FALSE(Write({.daemon = '1', .epoch = 3}).may_end_early) << "it was no failover";
}

// It may have been replaced without its knowledge.
TEST_P(RollScriptTest, EpochOfASingleDaemonDoesNotEndEarly) {
  Write({.daemon = '1'});
  EXPECT_FALSE(Write({.daemon = '1', .epoch = 2, .may_end_early = true}).may_end_early);
}

TEST_P(RollScriptTest, OneThatHasLeftIsNotTheSecond) {
  Write({.daemon = '2'});
  Write({.daemon = '2', .leaves = true});
  Write({.daemon = '1'});
  EXPECT_FALSE(Write({.daemon = '1', .epoch = 2, .may_end_early = true}).may_end_early);
}

TEST_P(RollScriptTest, OneThatIsOnlyKnownIsNotTheSecond) {
  Write({.daemon = '1'});
  const DaemonRoll roll =
      Write({.daemon = '1', .epoch = 2, .may_end_early = true, .known = IdOf('1') + IdOf('2')});
  EXPECT_FALSE(roll.may_end_early) << "the promoted server's roll lacks it";
  EXPECT_THAT(IdsOf(roll), ElementsAre(IdOf('1'), IdOf('2')));
}

TEST_P(RollScriptTest, ThoseWhoAreKnownComeOntoTheRollAsIfTheyWereThere) {
  Write({.daemon = '1'});
  const DaemonRoll roll =
      Write({.daemon = '1', .restored = 2, .epoch = 2, .known = IdOf('3') + IdOf('1') + IdOf('a')});

  ASSERT_THAT(IdsOf(roll), ElementsAre(IdOf('1'), IdOf('3'), IdOf('a')));
  EXPECT_EQ(roll.version, 3);
  EXPECT_EQ(EntryOf(roll, '1').restored, 2);
  EXPECT_EQ(EntryOf(roll, '3').restored, 0);
  EXPECT_EQ(EntryOf(roll, '3').beat, servers_.Now());
  EXPECT_EQ(EntryOf(roll, 'a').joined, 3);
  EXPECT_EQ(EntryOf(roll, 'a').state, RollEntry::State::kActive);
}

TEST_P(RollScriptTest, SilentDaemonIsDropped) {
  Write({.daemon = '1'});
  Write({.daemon = '2'});
  const int64_t then = servers_.Now().micros;
  servers_.AdvanceBy(core::Millis(1'000));
  EXPECT_EQ(Write({.daemon = '1', .dropped_before = then}).entries.size(), 2U);
  const DaemonRoll roll = Write({.daemon = '1', .dropped_before = then + 1});
  EXPECT_THAT(IdsOf(roll), ElementsAre(IdOf('1')));
  EXPECT_EQ(roll.version, 2);

  EXPECT_EQ(EntryOf(Write({.daemon = '2'}), '2').joined, 3) << "it comes anew";
}

TEST_P(RollScriptTest, OneThatWritesIsNotDroppedHoweverLongItWasSilent) {
  Write({.daemon = '1'});
  servers_.AdvanceBy(core::Millis(1'000));
  const DaemonRoll roll = Write({.daemon = '1', .dropped_before = servers_.Now().micros});
  EXPECT_EQ(EntryOf(roll, '1').joined, 1);
}

TEST_P(RollScriptTest, DaemonLeavesAndIsKnownToHaveLeftInTheNextEpoch) {
  Write({.daemon = '1'});
  Write({.daemon = '2'});
  EXPECT_EQ(EntryOf(Write({.daemon = '1', .leaves = true}), '1').state, RollEntry::State::kLeft);

  EXPECT_EQ(EntryOf(Write({.daemon = '2', .epoch = 2}), '1').state, RollEntry::State::kLeft);
  EXPECT_EQ(EntryOf(Write({.daemon = '2', .epoch = 2, .known = IdOf('1')}), '1').state,
            RollEntry::State::kLeft);
}

TEST_P(RollScriptTest, RollOfAnotherTypeIsReplaced) {
  servers_.Run({"HSET", kRollKey, "field", "of another type"});
  EXPECT_EQ(Call({}, "").items.at(2).text, "") << "it counts as none";

  EXPECT_THAT(IdsOf(Write({.daemon = '1'})), ElementsAre(IdOf('1')));
}

TEST_P(RollScriptTest, TextThatIsNoRollIsReplaced) {
  servers_.Run({"SET", kRollKey, "something else"});
  EXPECT_THAT(IdsOf(Write({.daemon = '1'})), ElementsAre(IdOf('1')));
}

INSTANTIATE_TEST_SUITE_P(Servers, RollScriptTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
