// SPDX-License-Identifier: Apache-2.0
//
// Which leases a heartbeat finds, and that it finds each once.
#include "core/session_leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ranges>
#include <string>
#include <vector>

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Millis kTtl = seconds(30);
constexpr Instant kStart{};

class SessionLeasesTest : public testing::Test {
 protected:
  void Keep(const std::string& name, Instant end, Millis ttl = kTtl) {
    leases_.Keep(name, id_, FencingToken{7}, Keeper(), ttl, end);
  }

  // Names of the leases that are due; they stay as they are.
  std::vector<std::string> Due(Instant now) {
    std::vector<std::string> names;
    std::vector<SessionLeases::Ref> refs;
    while (const auto due = leases_.NextDue(now)) {
      names.push_back((*due)->name);
      refs.push_back(*due);
    }
    for (const SessionLeases::Ref ref : std::views::reverse(refs)) leases_.NotExtended(ref);
    return names;
  }

  const LeaseId id_ = LeaseId::FromBits(1, 2);
  SessionLeases leases_;
};

TEST_F(SessionLeasesTest, DueIsWhatHasLessThanTwoThirdsLeft) {
  Keep("a", kStart + seconds(30));
  EXPECT_THAT(Due(kStart + seconds(10)), IsEmpty()) << "two thirds are left";
  EXPECT_THAT(Due(kStart + seconds(10) + Millis(1)), ElementsAre("a"));
  EXPECT_THAT(Due(kStart + seconds(60)), ElementsAre("a")) << "only the store knows that it ended";
}

TEST_F(SessionLeasesTest, LeasesOfAllTtlsAreFoundInTheOrderOfTheirEnds) {
  Keep("short", kStart + seconds(3), seconds(3));
  Keep("a", kStart + seconds(30));
  Keep("b", kStart + seconds(31));
  EXPECT_THAT(Due(kStart + seconds(2)), ElementsAre("short"));
  EXPECT_THAT(Due(kStart + seconds(20)), ElementsAre("short", "a", "b"));
}

// A schedule of the simulator must run alike wherever the allocator puts things.
TEST_F(SessionLeasesTest, LeasesOfOneTimeAreFoundInTheOrderOfTheirNames) {
  const std::vector<std::string> names = {"d", "b", "f", "a", "c", "e"};
  for (const std::string& name : names) Keep(name, kStart + seconds(30));
  EXPECT_THAT(Due(kStart + seconds(20)), ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST_F(SessionLeasesTest, LeaseThatEndsEarlyIsFoundBeforeThoseKeptEarlier) {
  Keep("a", kStart + seconds(30));
  Keep("repeated", kStart + seconds(15));
  EXPECT_THAT(Due(kStart + seconds(1)), ElementsAre("repeated"));
  Keep("late", kStart + seconds(28));
  EXPECT_THAT(Due(kStart + seconds(9)), ElementsAre("repeated", "late")) << "a is not due";
}

TEST_F(SessionLeasesTest, ExtensionThatIsAnsweredLateIsFoundInItsPlace) {
  Keep("a", kStart + seconds(30));
  Keep("b", kStart + seconds(30) + Millis(1));
  const auto a = leases_.NextDue(kStart + seconds(15));
  const auto b = leases_.NextDue(kStart + seconds(15));
  leases_.Extended(*b, kTtl, kStart + seconds(50));
  leases_.Extended(*a, kTtl, kStart + seconds(45));
  EXPECT_THAT(Due(kStart + seconds(27)), ElementsAre("a"));
}

TEST_F(SessionLeasesTest, ExtendedLeaseIsDueAgainLater) {
  Keep("a", kStart + seconds(30));
  Keep("b", kStart + seconds(30) + Millis(1));
  const auto a = leases_.NextDue(kStart + seconds(15));
  ASSERT_TRUE(a);
  leases_.Extended(*a, kTtl, kStart + seconds(45));
  EXPECT_THAT(Due(kStart + seconds(15)), ElementsAre("b"));
  EXPECT_THAT(Due(kStart + seconds(26)), ElementsAre("b", "a"));
}

// As one that a repeated acquire finds while a long heartbeat is at work.
TEST_F(SessionLeasesTest, LeaseThatBecomesDueLaterHidesNoneThatIsDue) {
  Keep("a", kStart + seconds(30));
  Keep("b", kStart + seconds(30) + Millis(1));
  const Instant began = kStart + seconds(11);
  leases_.Extended(*leases_.NextDue(began), kTtl, kStart + seconds(41));

  Keep("found", began + seconds(20) + Millis(1));

  EXPECT_THAT(Due(began), ElementsAre("b"));
  EXPECT_THAT(Due(began + Millis(2)), ElementsAre("b", "found"));
}

TEST_F(SessionLeasesTest, LeaseWhoseTtlChangesIsFoundByItsNewOne) {
  Keep("a", kStart + seconds(30));
  leases_.Extended(*leases_.NextDue(kStart + seconds(15)), seconds(3), kStart + seconds(18));
  EXPECT_THAT(Due(kStart + seconds(16)), IsEmpty());
  EXPECT_THAT(Due(kStart + seconds(17)), ElementsAre("a"));
  EXPECT_EQ(leases_.size(), 1U);
}

TEST_F(SessionLeasesTest, LeaseThatIsBeingExtendedIsNotFoundTwice) {
  Keep("a", kStart + seconds(30));
  ASSERT_TRUE(leases_.NextDue(kStart + seconds(15)));
  EXPECT_FALSE(leases_.NextDue(kStart + seconds(15)));
}

TEST_F(SessionLeasesTest, DroppedLeaseIsForgotten) {
  Keep("a", kStart + seconds(30));
  Keep("b", kStart + seconds(30) + Millis(1));
  EXPECT_TRUE(leases_.Drop("a", id_));
  EXPECT_FALSE(leases_.Drop("a", id_));
  EXPECT_FALSE(leases_.Drop("b", LeaseId::FromBits(9, 9))) << "another lease of that lock";
  EXPECT_THAT(Due(kStart + seconds(15)), ElementsAre("b"));
}

TEST_F(SessionLeasesTest, LeaseMayBeDroppedWhileItIsBeingExtended) {
  for (const int how : {0, 1, 2}) {
    Keep("a", kStart + seconds(30));
    const auto a = leases_.NextDue(kStart + seconds(15));
    ASSERT_TRUE(a);
    EXPECT_TRUE(leases_.Drop("a", id_));
    EXPECT_TRUE((*a)->dropped);
    if (how == 0) leases_.Extended(*a, kTtl, kStart + seconds(45));
    if (how == 1) leases_.Ended(*a);
    if (how == 2) leases_.NotExtended(*a);
    EXPECT_EQ(leases_.size(), 0U);
    EXPECT_THAT(Due(kStart + seconds(60)), IsEmpty());
  }
}

TEST_F(SessionLeasesTest, LeaseKeptAnewWhileItIsBeingExtendedStays) {
  Keep("a", kStart + seconds(30));
  const auto a = leases_.NextDue(kStart + seconds(15));
  Keep("a", kStart + seconds(45));
  leases_.Ended(*a);
  EXPECT_NE(leases_.Find("a", id_), nullptr);
  EXPECT_THAT(Due(kStart + seconds(26)), ElementsAre("a"));
}

TEST_F(SessionLeasesTest, WhatWasNotExtendedIsFirstNextTime) {
  Keep("a", kStart + seconds(30));
  Keep("b", kStart + seconds(30) + Millis(1));
  const auto a = leases_.NextDue(kStart + seconds(15));
  const auto b = leases_.NextDue(kStart + seconds(15));
  leases_.Extended(*b, kTtl, kStart + seconds(45));
  leases_.NotExtended(*a);
  EXPECT_THAT(Due(kStart + seconds(16)), ElementsAre("a")) << "though b is not due";
}

TEST_F(SessionLeasesTest, OneIdMayHaveSeveralLocks) {
  Keep("a", kStart + seconds(30));
  Keep("b", kStart + seconds(30) + Millis(1));
  EXPECT_EQ(leases_.size(), 2U);
}

TEST_F(SessionLeasesTest, LeaseThatIsBeingExtendedIsTakenOutToo) {
  Keep("a", kStart + seconds(10));
  const auto a = leases_.NextDue(kStart);
  EXPECT_EQ(leases_.TakeAny()->name, "a");
  EXPECT_FALSE(leases_.TakeAny());
  leases_.Extended(*a, kTtl, kStart + seconds(30));
  EXPECT_EQ(leases_.size(), 0U);
}

TEST_F(SessionLeasesTest, AllAreTakenOut) {
  Keep("a", kStart + seconds(30));
  Keep("b", kStart + seconds(3), seconds(3));
  EXPECT_NE(leases_.TakeAny()->name, leases_.TakeAny()->name);
  EXPECT_FALSE(leases_.TakeAny());
  EXPECT_EQ(leases_.size(), 0U);
}

}  // namespace
}  // namespace lockkeeper::core
