// SPDX-License-Identifier: Apache-2.0
#include "redis/told_leases.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/limits.h"
#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using core::Instant;
using core::Keeper;
using core::Millis;
using core::WithdrawScope;

const Keeper kCall(1, 7);
const Keeper kSession = Keeper::OfHolder(8);
const Keeper kSomeoneElse(2, 9);

class ToldLeasesTest : public testing::Test {
 protected:
  static core::LeaseId Id(uint64_t number) { return core::LeaseId::FromBits(number, ~number); }
  static Instant At(Millis time) { return Instant() + 1h + time; }

  // As alice's, with the token 7, until `end`.
  static ToldLease LeaseOf(Millis end, uint64_t number = 1, int64_t token = 7) {
    ToldLease lease;
    lease.name = "a";
    lease.lease_id = Id(number);
    lease.token = {token};
    lease.principal = "alice";
    lease.end = At(end);
    lease.keeper = kCall;
    return lease;
  }
  static ToldLease LeaseWithHold(Millis end, Millis hold_end) {
    ToldLease lease = LeaseOf(end);
    lease.hold_end = At(hold_end);
    return lease;
  }

  void Tell(ToldLease lease, Millis now = 0ms) { told_.Told(std::move(lease), At(now)); }

  void Withdraw(WithdrawScope scope, const Keeper& keeper, int64_t token = 7) {
    told_.Withdrawn(
        {.name = "a", .lease_id = Id(1), .keeper = keeper, .scope = scope, .token = {token}});
  }

  std::vector<ToldLease> Live(Millis now = 1ms) { return told_.Live(At(now)); }
  // The only one.
  ToldLease Only(Millis now = 1ms) {
    const std::vector<ToldLease> live = Live(now);
    EXPECT_EQ(live.size(), 1U);
    return live.empty() ? ToldLease() : live.front();
  }
  bool IsForgotten(Millis now = 1ms) { return Live(now).empty(); }

  ToldLeases told_;
};

TEST_F(ToldLeasesTest, LeaseIsRememberedUntilItsLockMayBeGivenToSomebodyElse) {
  ToldLease lease = LeaseOf(10s);
  lease.terms.lock_delay = 500ms;
  Tell(lease);

  EXPECT_EQ(Only(10'499ms).end, At(10s));
  EXPECT_TRUE(IsForgotten(10'500ms));
}

TEST_F(ToldLeasesTest, LeaseIsRememberedAsLongAsItsHoldAtLeastClosesTheLock) {
  Tell(LeaseWithHold(10s, 30s));
  EXPECT_EQ(Only(29'999ms).end, At(10s));
  EXPECT_TRUE(IsForgotten(30s));
}

// Their answers may overtake each other.
TEST_F(ToldLeasesTest, LaterOfTwoEndsCounts) {
  Tell(LeaseOf(10s));
  Tell(LeaseOf(20s));
  EXPECT_EQ(Only().end, At(20s));
  Tell(LeaseWithHold(15s, 40s));
  EXPECT_EQ(Only().end, At(20s));
  Tell(LeaseWithHold(15s, 30s));
  EXPECT_EQ(Only().hold_end, At(40s));
}

TEST_F(ToldLeasesTest, EndOfAnotherTokenDoesNotCount) {
  Tell(LeaseOf(20s));
  Tell(LeaseOf(10s, 1, 8));
  EXPECT_EQ(Only().end, At(10s));
  EXPECT_EQ(Only().token.value, 8);
}

TEST_F(ToldLeasesTest, LeaseStaysWithTheSessionThatHasAdoptedIt) {
  Tell(LeaseOf(10s));
  ToldLease adopted = LeaseOf(20s);
  adopted.keeper = Keeper();
  adopted.adopter = kSession;
  Tell(adopted);
  ToldLease extended = LeaseOf(30s);
  extended.keeper = Keeper();
  Tell(extended);

  EXPECT_EQ(Only().adopter, kSession);
  EXPECT_EQ(Only().keeper, kCall) << "an extend brings none";
  EXPECT_EQ(Only().end, At(30s));
}

TEST_F(ToldLeasesTest, ReleasedLeaseIsForgotten) {
  Tell(LeaseOf(10s));
  told_.Ended(Id(1), "alice", At(1ms));
  EXPECT_TRUE(IsForgotten());
}

// Such a release has ended nothing.
TEST_F(ToldLeasesTest, ReleaseByAnotherPrincipalDoesNotForgetTheLease) {
  Tell(LeaseOf(10s));
  told_.Ended(Id(1), "bob", At(1ms));
  EXPECT_EQ(Only().end, At(10s));
}

TEST_F(ToldLeasesTest, LeaseThatIsForcedOutIsForgotten) {
  Tell(LeaseOf(10s));
  told_.Ended(Id(1), "", At(1ms));
  EXPECT_TRUE(IsForgotten());
}

TEST_F(ToldLeasesTest, ReleasedLeaseKeepsItsLockClosedByHoldAtLeast) {
  ToldLease lease = LeaseWithHold(10s, 30s);
  lease.terms.lock_delay = 60s;
  Tell(lease);
  told_.Ended(Id(1), "alice", At(2s));

  EXPECT_EQ(Only(3s).end, At(2s)) << "the lease itself is over";
  EXPECT_EQ(Only(3s).ClosedUntil(), At(30s)) << "a release leaves no lock_delay";
}

TEST_F(ToldLeasesTest, ReleaseAfterItsHoldAtLeastForgetsTheLease) {
  Tell(LeaseWithHold(10s, 2s));
  told_.Ended(Id(1), "alice", At(2s));
  EXPECT_TRUE(IsForgotten(2s));
}

TEST_F(ToldLeasesTest, UnknownLeaseEnds) {
  Tell(LeaseOf(10s));
  told_.Ended(Id(2), "alice", At(1ms));
  EXPECT_EQ(Live().size(), 1U);
}

TEST_F(ToldLeasesTest, GrantIsWithdrawnByItsKeeperOnly) {
  for (const WithdrawScope scope : {WithdrawScope::kLeaseToo, WithdrawScope::kRelease}) {
    Tell(LeaseOf(10s));
    Withdraw(scope, kSomeoneElse);
    EXPECT_FALSE(IsForgotten());
    Withdraw(scope, kCall);
    EXPECT_TRUE(IsForgotten());
  }
}

TEST_F(ToldLeasesTest, AdoptedLeaseIsWithdrawnByItsAdopterOnly) {
  ToldLease adopted = LeaseOf(10s);
  adopted.adopter = kSession;
  Tell(adopted);
  Withdraw(WithdrawScope::kLeaseToo, kCall);
  EXPECT_FALSE(IsForgotten());
  Withdraw(WithdrawScope::kRelease, kSession);
  EXPECT_TRUE(IsForgotten());
}

TEST_F(ToldLeasesTest, ClaimIsWithdrawnByItsToken) {
  Tell(LeaseOf(10s));
  Withdraw(WithdrawScope::kClaim, kCall, 6);
  EXPECT_FALSE(IsForgotten()) << "of an earlier one";
  Withdraw(WithdrawScope::kClaim, kSomeoneElse, 7);
  EXPECT_TRUE(IsForgotten()) << "whoever keeps it";
}

TEST_F(ToldLeasesTest, WithdrawalThatEndsNoLeaseForgetsNone) {
  Tell(LeaseOf(10s));
  using enum WithdrawScope;
  for (const WithdrawScope scope :
       {kUnclaimedOnly, kSetAside, kPutBack, kPassOver, kLetClaimStand}) {
    Withdraw(scope, kCall);
  }
  EXPECT_FALSE(IsForgotten());
}

TEST_F(ToldLeasesTest, LiveOnesComeByTheirTokens) {
  Tell(LeaseOf(10s, 1, 30));
  Tell(LeaseOf(5ms, 2, 20));
  Tell(LeaseOf(10s, 3, 10));
  Tell(LeaseOf(10s, 4, 40));

  const std::vector<ToldLease> live = Live(5ms);

  ASSERT_EQ(live.size(), 3U) << "one is over";
  EXPECT_EQ(live[0].token.value, 10);
  EXPECT_EQ(live[1].token.value, 30);
  EXPECT_EQ(live[2].token.value, 40);
}

TEST_F(ToldLeasesTest, UntilThoseAreOverThatFoundNoRoomMoreWasToldThanIsKnown) {
  constexpr uint64_t kMost = core::limits::kToldLeasesMax;
  for (uint64_t i = 0; i < kMost; ++i) Tell(LeaseOf(10s, i));
  EXPECT_LE(told_.more_until(), At(0ms)) << "all have found room";
  Tell(LeaseOf(30s, 0));
  EXPECT_LE(told_.more_until(), At(0ms)) << "it is known already";

  ToldLease beyond = LeaseOf(20s, kMost);
  beyond.terms.lock_delay = 1s;
  Tell(beyond);
  EXPECT_EQ(told_.more_until(), At(21s));
  Tell(LeaseOf(15s, kMost + 1));
  EXPECT_EQ(told_.more_until(), At(21s)) << "the latest counts";
  EXPECT_EQ(Live().size(), kMost);
}

TEST_F(ToldLeasesTest, ThoseThatAreOverMakeRoom) {
  constexpr uint64_t kMost = core::limits::kToldLeasesMax;
  for (uint64_t i = 0; i < kMost; ++i) Tell(LeaseOf(10s, i));
  Tell(LeaseOf(30s, kMost), 10s);
  EXPECT_LE(told_.more_until(), At(0ms));
  EXPECT_EQ(Only(11s).lease_id, Id(kMost));
}

// That takes about a millisecond, in which nobody is answered.
TEST_F(ToldLeasesTest, WhileAllRoomIsTakenItLooksForSomeOnceASecond) {
  constexpr uint64_t kMost = core::limits::kToldLeasesMax;
  for (uint64_t i = 0; i < kMost; ++i) Tell(LeaseOf(10s, i));
  Tell(LeaseOf(20s, kMost), 9'500ms);
  ASSERT_EQ(told_.more_until(), At(20s));
  Tell(LeaseOf(30s, kMost + 1), 10'499ms);
  EXPECT_EQ(told_.more_until(), At(30s)) << "though the others are over";
  Tell(LeaseOf(40s, kMost + 2), 10'500ms);
  EXPECT_EQ(told_.more_until(), At(30s));
  EXPECT_EQ(Only(11s).lease_id, Id(kMost + 2));
}

TEST_F(ToldLeasesTest, ForcedReleaseOfALeaseThatAnotherDaemonToldIsWaitedFor) {
  told_.ForcedOut(At(40s));
  told_.ForcedOut(At(30s));
  EXPECT_EQ(told_.more_until(), At(40s));
}

}  // namespace
}  // namespace lockkeeper::redis
