// SPDX-License-Identifier: Apache-2.0
//
// The former holders that a lock record keeps: who they were, how each lease ended and when. They
// are for people: nothing is decided by them, and no text of theirs is taken for anything else.
#include <algorithm>

#include "contract/redis/redis_contract.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

using core::FormerLease;
using core::LeaseEnd;
using core::NodeTime;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Millis kHold{60'000};
// As docs/reference/record.md says.
constexpr size_t kOwnerBytes = 32;
constexpr size_t kHoldersAtLeast = 3;

class HistoryContract : public RedisContract {
 protected:
  core::Lease GrantTo(const std::string& owner, const LeaseId& id) {
    core::AcquireRequest request = AcquireOf("a", id);
    request.owner = owner;
    return Grant(request);
  }

  // A lease of `owner` that is held for a second and released.
  FormerLease HoldOnce(const std::string& owner, const LeaseId& id) {
    const core::Lease lease = GrantTo(owner, id);
    StepBy(Millis(1'000));
    EXPECT_EQ(Release("a", id), core::NotReleasedReason::kNone);
    return {lease.token, owner, LeaseEnd::kReleased, Rounded(lease.token, NodeNow())};
  }

  // Counted in whole milliseconds from the token.
  static NodeTime Rounded(core::FencingToken token, NodeTime time) {
    return NodeTime{time.micros - (time.micros - token.value) % 1'000};
  }

  static std::string Repeat(const std::string& text, size_t times) {
    std::string repeated;
    for (size_t i = 0; i < times; ++i) repeated += text;
    return repeated;
  }

  std::vector<FormerLease> History() { return Get("a").history; }
};

TEST_P(HistoryContract, LockThatWasNeverHeldBeforeHasNone) {
  GrantTo("ada", Id(1));
  EXPECT_THAT(History(), IsEmpty());
}

TEST_P(HistoryContract, ReleasedLeaseIsKeptByTheReleaseAndThroughTheNextGrants) {
  const FormerLease first = HoldOnce("ada", Id(1));
  EXPECT_THAT(History(), ElementsAre(first));

  const FormerLease second = HoldOnce("bob at host:7", Id(2));
  EXPECT_THAT(History(), ElementsAre(second, first));

  GrantTo("cora", Id(3));
  EXPECT_THAT(History(), ElementsAre(second, first));
}

TEST_P(HistoryContract, ExpiredLeaseIsKept) {
  const core::Lease lease = GrantTo("ada", Id(1));
  StepBy(kTtl + Millis(500));
  const FormerLease ada{lease.token, "ada", LeaseEnd::kExpired, lease.lease_end};
  EXPECT_THAT(History(), ElementsAre(ada)) << "before anybody else comes";

  GrantTo("bob", Id(2));

  EXPECT_THAT(History(), ElementsAre(ada));
}

TEST_P(HistoryContract, LeaseThatAnAdministratorEndedIsKeptWithTheRaisedToken) {
  GrantTo("ada", Id(1));
  StepBy(Millis(1'000));
  const auto forced = ForceRelease("a", core::ReleaseDelay::kNone);
  const FormerLease ada{forced.token, "ada", LeaseEnd::kForced, NodeNow()};
  EXPECT_THAT(History(), ElementsAre(ada));

  GrantTo("bob", Id(2));

  EXPECT_THAT(History(), ElementsAre(ada));
}

TEST_P(HistoryContract, ReleasedLeaseThatKeptTheLockClosedIsKept) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.owner = "ada";
  request.hold_at_least = kHold;
  const core::Lease lease = Grant(request);
  StepBy(Millis(1'000));
  Release("a", Id(1));
  const FormerLease ada{lease.token, "ada", LeaseEnd::kReleased, Rounded(lease.token, NodeNow())};
  EXPECT_THAT(History(), ElementsAre(testing::Field(&FormerLease::token, lease.token)));
  StepBy(kHold);

  GrantTo("bob", Id(2));

  EXPECT_THAT(History(), ElementsAre(ada));
}

TEST_P(HistoryContract, LeaseOfLessThanATenthOfASecondIsLeftOut) {
  const FormerLease ada = HoldOnce("ada", Id(1));
  GrantTo("bob", Id(2));
  StepBy(Millis(99));
  Release("a", Id(2));
  EXPECT_THAT(History(), ElementsAre(ada));

  const core::Lease cora = GrantTo("cora", Id(3));
  StepBy(Millis(100));
  Release("a", Id(3));

  EXPECT_THAT(History(), ElementsAre(FormerLease{cora.token, "cora", LeaseEnd::kReleased,
                                                 Rounded(cora.token, NodeNow())},
                                     ada));
}

TEST_P(HistoryContract, WithdrawnLeaseWasHeldByNobodyAndHidesNobody) {
  const FormerLease ada = HoldOnce("ada", Id(1));
  const core::AcquireRequest request = AcquireOf("a", Id(2));
  Grant(request);
  EXPECT_EQ(Withdraw(request), core::WithdrawResult::kWithdrawn);

  EXPECT_THAT(History(), ElementsAre(ada));
  GrantTo("bob", Id(3));
  EXPECT_THAT(History(), ElementsAre(ada));
}

TEST_P(HistoryContract, LatestHoldersAreKeptAndTheRecordStaysBounded) {
  std::vector<FormerLease> all;
  size_t longest = 0;
  for (uint64_t i = 1; i <= 30; ++i) {
    all.insert(all.begin(), HoldOnce(std::string(200, 'o'), Id(i)));
    all.front().owner = std::string(i == 1 ? 10 : kOwnerBytes, 'o');
    const std::vector<FormerLease> kept = History();
    ASSERT_GE(kept.size(), std::min<size_t>(i, kHoldersAtLeast));
    ASSERT_TRUE(std::equal(kept.begin(), kept.end(), all.begin())) << i;
    longest = std::max(longest, RecordOf("a").size());
  }
  EXPECT_LT(longest, 33 + 2 * 62 + 20 + 180);
}

// Owners that are all there is of a record's bytes that a client chooses.
TEST_P(HistoryContract, WhateverTheOwnerSaysNothingElseChanges) {
  Random random(7);
  for (uint64_t i = 1; i <= 200; ++i) {
    const std::vector<std::string> owners = {" :1795262921",
                                             std::string(48, ':'),
                                             std::string(48, ' '),
                                             "0000000001 0000000001 0000000001",
                                             Repeat("\xF0\x9F\x94\x92", 10) + " ",
                                             "R1795262921617788",
                                             "1;",
                                             "",
                                             std::string(Id(i).digits())};
    const std::string& owner = random.Pick(owners);
    const LeaseId id = Id(i);
    GrantTo(owner, id);
    if (i > 1) {
      ASSERT_FALSE(History().empty());
      const LeaseId before = Id(i - 1);
      EXPECT_EQ(ReasonOf(Ask(AcquireOf("a", before))), ErrorReason::kLeaseEnded);
    }
    if (random.OneIn(4)) {
      StepBy(kTtl);
    } else {
      StepBy(Millis(1'000));
      EXPECT_EQ(Release("a", id), core::NotReleasedReason::kNone);
      EXPECT_EQ(Release("a", id), core::NotReleasedReason::kNone) << "repeated";
    }
    const auto history = History();
    ASSERT_FALSE(history.empty());
    EXPECT_TRUE(owner.starts_with(history.front().owner)) << history.front().owner;
  }
}

// Somebody else wrote into Redis.
TEST_P(HistoryContract, HolderOfATimeThatCannotBeIsLeftOut) {
  const FormerLease ada = HoldOnce("ada", Id(1));
  const FormerLease bob = HoldOnce("bob", Id(2));
  ASSERT_THAT(History(), ElementsAre(bob, ada));
  std::string record = RecordOf("a");
  const size_t time = record.rfind(';');
  record.insert(time, std::string(13, '0'));  // Milliseconds beyond all that is counted.
  PutRecord("a", record);

  EXPECT_THAT(History(), ElementsAre(ada));
}

// A version from before the history puts what it voids behind it.
TEST_P(HistoryContract, RecordThatAnOlderVersionWroteOnIsRead) {
  HoldOnce("ada", Id(1));
  const std::string record = RecordOf("a");
  PutRecord("a", record + " :1795262921 AAAAAAAAR");

  EXPECT_THAT(History(), IsEmpty());
  EXPECT_EQ(ReasonOf(Ask(AcquireOf("a", Id(1)))), ErrorReason::kLeaseEnded);
  const FormerLease bob = HoldOnce("bob", Id(2));
  EXPECT_THAT(History(), ElementsAre(bob));
}

LOCKKEEPER_REDIS_SUITE(HistoryContract);

}  // namespace
}  // namespace lockkeeper::support
