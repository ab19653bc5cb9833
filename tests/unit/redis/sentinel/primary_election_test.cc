// SPDX-License-Identifier: Apache-2.0
#include "redis/sentinel/primary_election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/redis/replies.h"

namespace lockkeeper::redis {
namespace {

using ::testing::Eq;
using ::testing::Optional;
using ::testing::SizeIs;

const ServerAddress kA{"10.0.0.1", 6379};
const ServerAddress kB{"10.0.0.2", 6379};

core::Instant At(int second) { return core::Instant(std::chrono::seconds(second)); }

SentinelView View(std::string id, const ServerAddress& primary, int64_t epoch, int second = 10) {
  return {.id = std::move(id),
          .primary = primary,
          .config_epoch = epoch,
          .sentinels = 3,
          .asked = At(second)};
}

Election ElectAmong(const std::vector<SentinelView>& views, ElectionRules rules = {}) {
  if (rules.oldest == core::Instant()) rules.oldest = At(9);
  return Elect(views, rules);
}

TEST(PrimaryElectionTest, OneOfThreeIsNoMajority) {
  const Election election = ElectAmong({View("1", kA, 1)});

  EXPECT_EQ(election.primary, std::nullopt);
  EXPECT_EQ(election.heard, 1u);
  EXPECT_EQ(election.needed, 2u);
  EXPECT_EQ(election.known, 3u);
  EXPECT_THAT(ElectAmong({View("1", kA, 1), View("2", kA, 1)}).primary, Optional(kA));
}

TEST(PrimaryElectionTest, HalfIsNoMajority) {
  SentinelView one = View("1", kA, 1);
  SentinelView two = View("2", kA, 1);
  one.sentinels = two.sentinels = 4;
  EXPECT_EQ(ElectAmong({one, two}).primary, std::nullopt);
  EXPECT_THAT(ElectAmong({one, two, View("3", kA, 1)}).primary, Optional(kA));
}

TEST(PrimaryElectionTest, ThoseThatTheConfigurationNamesCount) {
  const std::vector<SentinelView> two = {View("1", kA, 1), View("2", kA, 1)};
  EXPECT_EQ(ElectAmong(two, {.named = 5}).primary, std::nullopt);
  EXPECT_EQ(ElectAmong(two, {.named = 5}).needed, 3u);
}

// The one that leads the failover is cut off, after it has told of it.
TEST(PrimaryElectionTest, FormerPrimaryDoesNotComeBackWhenTheNewestAnswerGrowsOld) {
  Elections elections({}, 3, Majority::kNeeded);
  const std::vector<SentinelView> told = {View("1", kB, 2, 10), View("2", kA, 1, 10)};
  ASSERT_THAT(elections.Hold(told, At(10), kA).primary, Optional(kB));
  const std::vector<SentinelView> behind = {View("1", kB, 2, 10), View("2", kA, 1, 14),
                                            View("3", kA, 1, 14)};

  EXPECT_THAT(elections.Hold(behind, At(15), kB).primary, Optional(kB));
  EXPECT_THAT(elections.Hold(behind, At(15), std::nullopt).primary, Optional(kB));
  EXPECT_EQ(elections.Hold(behind, At(15), kB).config_epoch, 2);
}

TEST(PrimaryElectionTest, LowerEpochCountsOnceAllSentinelsWouldKnowTheHigher) {
  Elections elections({}, 3, Majority::kNeeded);
  const std::vector<SentinelView> told = {View("1", kB, 2, 10), View("2", kB, 2, 10)};
  ASSERT_THAT(elections.Hold(told, At(10), kA).primary, Optional(kB));

  // They were all set up anew.
  const std::vector<SentinelView> anew = {View("4", kA, 0, 15), View("5", kA, 0, 15)};
  EXPECT_THAT(elections.Hold(anew, At(15), kB).primary, Optional(kB));
  EXPECT_THAT(elections.Hold(anew, At(16), kB).primary, Optional(kA));
}

TEST(PrimaryElectionTest, WithoutAMajorityThatIsHeardNowTheNewestDoesNotCount) {
  Elections elections({}, 3, Majority::kNeeded);
  const std::vector<SentinelView> told = {View("1", kB, 2, 10), View("2", kB, 2, 10)};
  ASSERT_THAT(elections.Hold(told, At(10), kA).primary, Optional(kB));
  EXPECT_EQ(elections.Hold(told, At(14), kB).primary, std::nullopt);
}

TEST(PrimaryElectionTest, OneSentinelThatIsReachedTwiceHasOneVote) {
  EXPECT_EQ(ElectAmong({View("1", kA, 1), View("1", kA, 1)}).primary, std::nullopt);
}

TEST(PrimaryElectionTest, NewestAnswerOfASentinelCounts) {
  const std::vector<SentinelView> views = {View("1", kA, 1, 9), View("1", kB, 2, 10),
                                           View("2", kA, 1, 10)};
  EXPECT_THAT(ElectAmong(views).primary, Optional(kB));
}

TEST(PrimaryElectionTest, HighestConfigEpochWinsAgainstMoreVotes) {
  EXPECT_THAT(ElectAmong({View("1", kA, 1), View("2", kB, 2), View("3", kA, 1)}).primary,
              Optional(kB));
  EXPECT_THAT(ElectAmong({View("1", kB, 2), View("2", kA, 1)}, {.current = kA}).primary,
              Optional(kB));
  EXPECT_EQ(ElectAmong({View("1", kB, 2), View("2", kA, 1)}).config_epoch, 2);
}

TEST(PrimaryElectionTest, OldAnswersDoNotCount) {
  EXPECT_EQ(ElectAmong({View("1", kA, 1, 8), View("2", kA, 1)}).primary, std::nullopt);
  EXPECT_THAT(ElectAmong({View("1", kB, 2, 8), View("2", kA, 1), View("3", kA, 1)}).primary,
              Optional(kA));
}

TEST(PrimaryElectionTest, OfTwoAddressesWithOneEpochThePresentOneStays) {
  const std::vector<SentinelView> tie = {View("1", kA, 1), View("2", kB, 1)};
  EXPECT_THAT(ElectAmong(tie, {.current = kA}).primary, Optional(kA));
  EXPECT_THAT(ElectAmong(tie, {.current = kB}).primary, Optional(kB));
  // One of them may have the new epoch without the new address.
  const std::vector<SentinelView> views = {View("1", kA, 1), View("2", kB, 1), View("3", kB, 1)};
  EXPECT_THAT(ElectAmong(views, {.current = kA}).primary, Optional(kB)) << "most votes";
  EXPECT_THAT(ElectAmong(views, {.current = ServerAddress{"10.0.0.3", 1}}).primary, Optional(kB));
}

TEST(PrimaryElectionTest, OneIsEnoughIfNoMajorityIsNeeded) {
  EXPECT_THAT(ElectAmong({View("1", kA, 1)}, {.majority = Majority::kNotNeeded}).primary,
              Optional(kA));
  EXPECT_EQ(ElectAmong({View("1", kA, 1, 8)}, {.majority = Majority::kNotNeeded}).primary,
            std::nullopt);
  EXPECT_EQ(ElectAmong({}, {.majority = Majority::kNotNeeded}).primary, std::nullopt);
}

TEST(SentinelRepliesTest, ServiceStateIsRead) {
  const auto state = ReadServiceState(
      Array({"name", "m", "config-epoch", "7", "num-slaves", "2", "num-other-sentinels", "4"}));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->config_epoch, 7);
  EXPECT_EQ(state->sentinels, 5u);
}

TEST(SentinelRepliesTest, MalformedServiceStateIsNone) {
  EXPECT_FALSE(ReadServiceState(Array({"config-epoch", "7"})));
  EXPECT_FALSE(ReadServiceState(Array({"config-epoch", "x", "num-other-sentinels", "4"})));
  EXPECT_FALSE(ReadServiceState(Array({"config-epoch", "-1", "num-other-sentinels", "4"})));
  EXPECT_FALSE(ReadServiceState(Array({"config-epoch", "1", "num-other-sentinels", "1001"})));
  EXPECT_FALSE(ReadServiceState(Array({"config-epoch"})));
  EXPECT_FALSE(ReadServiceState(Text("config-epoch")));
  EXPECT_FALSE(ReadServiceState(Reply()));
}

TEST(SentinelRepliesTest, PrimaryAddressIsRead) {
  EXPECT_THAT(ReadPrimaryAddress(Array({"10.0.0.1", "6379"})), Optional(kA));
  EXPECT_THAT(ReadPrimaryAddress(Array({"::1", "1"})), Optional(ServerAddress{"::1", 1}));
  for (const std::string port : {"", "0", "65536", "x", "1 "}) {
    EXPECT_EQ(ReadPrimaryAddress(Array({"10.0.0.1", port})), std::nullopt) << port;
  }
  EXPECT_EQ(ReadPrimaryAddress(Array({"", "1"})), std::nullopt);
  EXPECT_EQ(ReadPrimaryAddress(Array({"10.0.0.1"})), std::nullopt);
  EXPECT_EQ(ReadPrimaryAddress(Reply()), std::nullopt);
}

TEST(SentinelRepliesTest, OtherSentinelsAreReadAndMalformedOnesLeftOut) {
  Reply reply = Array({});
  reply.items.push_back(Array({"ip", "10.0.0.1", "port", "6379", "runid", "abc"}));
  reply.items.push_back(Array({"ip", "10.0.0.2", "port", "6379", "runid", ""}));
  reply.items.push_back(Array({"ip", "10.0.0.3", "port", "0", "runid", "def"}));
  reply.items.push_back(Text("no array"));

  const std::vector<OtherSentinel> others = ReadOtherSentinels(reply);
  ASSERT_THAT(others, SizeIs(1));
  EXPECT_EQ(others[0].id, "abc");
  EXPECT_THAT(others[0].address, Eq(kA));
  EXPECT_THAT(ReadOtherSentinels(Text("x")), SizeIs(0));
}

}  // namespace
}  // namespace lockkeeper::redis
