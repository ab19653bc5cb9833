// SPDX-License-Identifier: Apache-2.0
//
// A session: what it keeps alive, what a heartbeat does, and what becomes of its work
// when the stream breaks.
#include <gmock/gmock.h>

#include <string>

#include "unit/core/session_fixture.h"

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SessionTest, OperationsReachTheStoreInTheirOrderAndAreAnswered) {
  session_->Run({1, Acquire("a")});
  session_->Run({2, Extend("a")});
  session_->Run({3, Release("a")});
  session_->Run({4, FenceRequest{.name = "a", .token = FencingToken{42}}});
  store_.fences.Answer(FenceAnswer{});
  store_.acquires.Answer(AcquireOutcome(Granted("a")));
  store_.extends.Answer(Granted("a"));
  store_.releases.Answer(ReleaseAnswer{});

  ASSERT_EQ(listener_.answered.size(), 4U);
  EXPECT_EQ(listener_.answered[0].kind, OperationKind::kFence);
  EXPECT_EQ(listener_.answered[1].id, 1U);
  EXPECT_TRUE(std::holds_alternative<AcquireAnswer>(*listener_.answered[1].answer));
  EXPECT_TRUE(std::holds_alternative<Lease>(*listener_.answered[2].answer));
  EXPECT_TRUE(std::holds_alternative<ReleaseAnswer>(*listener_.answered[3].answer));
}

TEST_F(SessionTest, HeartbeatExtendsWhatIsDueForItsOwnTtlAndPrincipal) {
  Hold("a");
  StartHeartbeat();
  EXPECT_THAT(NotExtendedNames(), IsEmpty());
  EXPECT_TRUE(beaten_) << "nothing was due, so that is the answer";
  EXPECT_EQ(store_.extends.size(), 0U);

  beaten_.reset();
  Pass(seconds(11));
  StartHeartbeat();
  EXPECT_EQ(store_.extends.front().name, "a");
  EXPECT_EQ(store_.extends.front().ttl, kTtl);
  EXPECT_EQ(store_.extends.front().principal, "someone");
  EXPECT_FALSE(beaten_);
  store_.extends.Answer(Granted("a"));
  EXPECT_THAT(NotExtendedNames(), IsEmpty());

  beaten_.reset();
  StartHeartbeat();
  EXPECT_EQ(store_.extends.size(), 0U) << "it was extended just now";
}

TEST_F(SessionTest, HeartbeatTellsWhatItCouldNotExtend) {
  Hold("a");
  Hold("b");
  Pass(seconds(11));
  StartHeartbeat();
  store_.extends.Answer(Lost());
  store_.extends.Answer(Away());
  ASSERT_TRUE(beaten_);
  EXPECT_EQ(beaten_->not_extended[0].reason, ErrorReason::kLeaseLost);
  EXPECT_EQ(beaten_->not_extended[0].token, Granted("a").token);
  EXPECT_EQ(beaten_->not_extended[1].reason, ErrorReason::kStoreUnavailable);
  EXPECT_EQ(session_->leases(), 1U) << "the lost one is kept no longer";

  beaten_.reset();
  StartHeartbeat();
  EXPECT_EQ(store_.extends.front().name, "b") << "it is still due";
}

// A heartbeat that does not name a lease promises two thirds of its ttl.
TEST_F(SessionTest, LeaseWhoseGrantWasAnsweredLateIsDueByItsTrueEnd) {
  session_->Run({1, Acquire("a")});
  Pass(seconds(1));  // Nobody knows when the store granted it.
  store_.acquires.Answer(AcquireOutcome(Granted("a")));
  Pass(Millis(9'500));
  StartHeartbeat();
  EXPECT_EQ(store_.extends.size(), 1U) << "it may have only 19.5 s left";
}

TEST_F(SessionTest, LeaseWhoseExtensionWasAnsweredLateIsDueByItsTrueEnd) {
  Hold("a");
  Pass(seconds(11));
  StartHeartbeat();
  Pass(seconds(1));
  store_.extends.Answer(Granted("a"));
  EXPECT_TRUE(beaten_) << "it is not extended twice";
  beaten_.reset();
  Pass(Millis(9'500));
  StartHeartbeat();
  EXPECT_EQ(store_.extends.size(), 1U);
}

TEST_F(SessionTest, LeaseThatARepeatFoundIsExtendedThoughOthersAreNotDue) {
  Hold("a");
  session_->Run({2, Acquire("b")});
  Lease found = Granted("b");
  found.remaining_ttl = seconds(15);
  store_.acquires.Answer(AcquireOutcome(found));
  StartHeartbeat();
  ASSERT_EQ(store_.extends.size(), 1U);
  EXPECT_EQ(store_.extends.front().name, "b");
}

TEST_F(SessionTest, LeaseAtItsMaxHoldIsNamedAndTriedOnlyOnce) {
  Hold("a");
  Pass(seconds(11));
  StartHeartbeat();
  Lease at_its_end = Granted("a");
  at_its_end.remaining_ttl = seconds(30) - Millis(1);
  store_.extends.Answer(at_its_end);
  EXPECT_EQ(store_.extends.size(), 0U) << "it would go on until the lease has ended";
  ASSERT_TRUE(beaten_);
  ASSERT_EQ(beaten_->not_extended.size(), 1U);
  EXPECT_EQ(beaten_->not_extended.front().reason, ErrorReason::kLeaseLimit);
  EXPECT_EQ(session_->leases(), 1U) << "it still runs";
}

TEST_F(SessionTest, ForgottenLeaseIsNeitherExtendedNorReleased) {
  Hold("a");
  session_->Forget("a", Acquire("a").lease_id);
  Pass(seconds(11));
  StartHeartbeat();
  EXPECT_EQ(store_.extends.size(), 0U);
  EXPECT_TRUE(beaten_);
  EXPECT_EQ(session_->leases(), 0U);
}

TEST_F(SessionTest, LeaseThatIsForgottenWhileItIsExtendedIsNotNamed) {
  Hold("a");
  Pass(seconds(11));
  StartHeartbeat();
  session_->Forget("a", Acquire("a").lease_id);
  store_.extends.Answer(Away());
  ASSERT_TRUE(beaten_);
  EXPECT_THAT(NotExtendedNames(), ElementsAre());
  EXPECT_EQ(session_->leases(), 0U);
}

TEST_F(SessionTest, LeaseKeptAnewWhileItsExtensionFailsIsExtendedOnceMore) {
  Hold("a");
  Pass(seconds(11));
  StartHeartbeat();
  session_->Run({2, Acquire("a")});
  Lease found = Granted("a");
  found.remaining_ttl = seconds(19);
  store_.acquires.Answer(AcquireOutcome(found));
  store_.extends.Answer(Away());
  EXPECT_FALSE(beaten_) << "nothing is known of the lease yet";
  store_.extends.Answer(Away());
  EXPECT_THAT(NotExtendedNames(), ElementsAre("a"));
}

TEST_F(SessionTest, HeartbeatOfManyLeasesGoesInPortions) {
  constexpr size_t kLeases = 2'000;
  for (size_t i = 0; i < kLeases; ++i) {
    AcquireRequest request = Acquire("x");
    request.name = "lock" + std::to_string(i);
    session_->Run({i, request});
    Lease lease = Granted("x");
    lease.name = request.name;
    store_.acquires.Answer(AcquireOutcome(lease));
  }
  Pass(seconds(11));
  StartHeartbeat();
  size_t extended = 0;
  while (store_.extends.size() > 0) {
    EXPECT_LE(store_.extends.size(), 512U);
    Lease lease = Granted("x");
    lease.name = store_.extends.front().name;
    store_.extends.Answer(lease);
    ++extended;
  }
  EXPECT_EQ(extended, kLeases);
  EXPECT_TRUE(beaten_);
}

TEST_F(SessionTest, ReleasedLeaseIsNotExtendedAndNotReported) {
  Hold("a");
  Hold("b");
  Pass(seconds(11));
  session_->Run({2, Release("a")});
  StartHeartbeat();
  EXPECT_EQ(store_.extends.front().name, "b");
  session_->Run({3, Release("b")});
  store_.extends.Answer(Lost());
  EXPECT_TRUE(beaten_);
  EXPECT_THAT(NotExtendedNames(), IsEmpty()) << "its client has given it up";
  EXPECT_EQ(session_->leases(), 0U);
}

// The answer of the heartbeat may reach the client before that of the extend.
TEST_F(SessionTest, HeartbeatTellsOfALeaseThatAnExtendHasJustFoundLost) {
  Hold("a");
  Pass(seconds(11));
  session_->Run({2, Extend("a")});
  StartHeartbeat();
  store_.extends.Answer(Lost());
  store_.extends.Answer(Lost());
  EXPECT_TRUE(beaten_);
  EXPECT_THAT(NotExtendedNames(), ElementsAre("a"));
  EXPECT_EQ(session_->leases(), 0U);
}

// A store that has lost its state: the client has the proof of its leases, the session has none.
TEST_F(SessionTest, ForgottenLeaseIsNamedUntilItsClientProvesItAndThenKept) {
  Hold("a");
  Pass(seconds(11));
  StartHeartbeat();
  EXPECT_EQ(store_.extends.front().reassertion, "");
  store_.extends.Answer(Quarantined());
  ASSERT_TRUE(beaten_);
  ASSERT_EQ(beaten_->not_extended.size(), 1U);
  EXPECT_EQ(beaten_->not_extended.front().reason, ErrorReason::kStoreQuarantined);
  EXPECT_EQ(session_->leases(), 1U);

  session_->Run({2, Proved("a")});
  EXPECT_EQ(store_.extends.front().token, FencingToken{42});
  EXPECT_EQ(store_.extends.front().reassertion, "proof");
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(session_->leases(), 1U);

  beaten_.reset();
  Pass(seconds(11));
  StartHeartbeat();
  ASSERT_EQ(store_.extends.size(), 1U);
  store_.extends.Answer(Granted("a"));
  EXPECT_TRUE(beaten_);
  EXPECT_THAT(NotExtendedNames(), IsEmpty());
}

TEST_F(SessionTest, LeaseProvedWhileAHeartbeatFindsItForgottenIsKept) {
  Hold("a");
  Pass(seconds(11));
  StartHeartbeat();
  session_->Run({2, Proved("a")});
  store_.extends.Answer(Quarantined());  // Of the heartbeat.
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(session_->leases(), 1U);

  beaten_.reset();
  StartHeartbeat();
  EXPECT_EQ(store_.extends.size(), 0U) << "it was extended just now";
}

TEST_F(SessionTest, ForgottenLeaseThatItsClientCannotProveStaysNamed) {
  Hold("a");
  session_->Run({2, Extend("a")});
  store_.extends.Answer(Quarantined());
  EXPECT_EQ(session_->leases(), 1U) << "its end stands";
  EXPECT_EQ(ReasonOf(listener_.answered.back().answer.status()), ErrorReason::kStoreQuarantined);
}

TEST_F(SessionTest, ForgottenLeaseIsAdoptedWithItsProof) {
  Caught<Lease> adopted;
  ExtendRequest request = Adoption("a");
  request.reassertion = "proof";
  session_->Adopt(request, adopted.Into());
  EXPECT_EQ(store_.extends.front().reassertion, "proof");
  store_.extends.Answer(Granted("a"));
  EXPECT_TRUE(adopted.value().ok());
  EXPECT_EQ(session_->leases(), 1U);
}

TEST_F(SessionTest, LeaseThatAnExtendFindsLostIsKeptNoLonger) {
  Hold("a");
  session_->Run({2, Extend("a")});
  store_.extends.Answer(Lost());
  EXPECT_EQ(session_->leases(), 0U);
}

TEST_F(SessionTest, ExtendOfSomeOtherLeaseDoesNotMakeItTheSessions) {
  session_->Run({1, Extend("a")});
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(session_->leases(), 0U);
}

TEST_F(SessionTest, OfferIsKeptOnceItIsClaimed) {
  TellOffer("a");
  EXPECT_EQ(session_->leases(), 0U);

  session_->Run({2, Extend("a")});
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(session_->leases(), 1U);
}

// The store makes an offer anew to one who has not claimed it, so a claim may come late.
TEST_F(SessionTest, OfferThatASlowReaderClaimsLateIsKept) {
  TellOffer("a");
  Pass(Withdrawals::kLeaveTriedFor - Millis(1));

  session_->Run({2, Extend("a")});
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(session_->leases(), 1U)
      << "else no heartbeat extends it, and its client trusts in that";
}

TEST_F(SessionTest, OfferThatWasReleasedOrLostIsNoneOfTheSession) {
  TellOffer("a");
  session_->Run({2, Release("a")});
  store_.releases.Answer(ReleaseAnswer{});
  TellOffer("b");
  session_->Run({3, Extend("b")});
  store_.extends.Answer(Lost());

  for (const std::string name : {"a", "b"}) {
    session_->Run({4, Extend(name)});
    store_.extends.Answer(Granted(name));
    EXPECT_EQ(session_->leases(), 0U) << name;
  }
}

TEST_F(SessionTest, AdoptedLeaseIsKept) {
  Caught<Lease> adopted;
  session_->Adopt(Adoption("a"), adopted.Into());
  store_.extends.Answer(Granted("a"));
  EXPECT_TRUE(adopted.value().ok());
  EXPECT_EQ(session_->leases(), 1U);
}

TEST_F(SessionTest, LeaseWithAnotherTokenIsNotAdopted) {
  Caught<Lease> adopted;
  ExtendRequest request = Adoption("a");
  request.token = FencingToken{41};
  session_->Adopt(request, adopted.Into());
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(ReasonOf(adopted.value().status()), ErrorReason::kLeaseLost);
  EXPECT_EQ(session_->leases(), 0U);
}

TEST_F(SessionTest, FullSessionRejectsAcquiresAndAdoptions) {
  OpenSession(3);
  Hold("a");
  TellOffer("b");
  Caught<Lease> adopted;
  session_->Adopt(Adoption("c"), adopted.Into());  // Not answered yet.
  listener_.answered.clear();

  session_->Run({2, Acquire("d")});
  ASSERT_EQ(listener_.answered.size(), 1U);
  EXPECT_EQ(ReasonOf(listener_.answered.front().answer.status()), ErrorReason::kLeaseLimit);
  EXPECT_EQ(store_.acquires.size(), 0U);
  Caught<Lease> rejected;
  session_->Adopt(Adoption("d"), rejected.Into());
  EXPECT_EQ(ReasonOf(rejected.value().status()), ErrorReason::kLeaseLimit);
  EXPECT_EQ(store_.extends.size(), 1U);

  store_.extends.Answer(Granted("c"));
  EXPECT_EQ(session_->leases(), 2U);
  session_->Run({3, Extend("b")});
  store_.extends.Answer(Granted("b"));
  EXPECT_EQ(session_->leases(), 3U) << "an offer that was told has its room";
  Caught<Lease> again;
  session_->Adopt(Adoption("a"), again.Into());
  store_.extends.Answer(Granted("a"));
  EXPECT_TRUE(again.value().ok()) << "it is kept already";
}

TEST_F(SessionTest, RoomOfAnAdoptionThatFailedAndOfALapsedOfferIsFree) {
  OpenSession(1);
  Caught<Lease> adopted;
  session_->Adopt(Adoption("a"), adopted.Into());
  store_.extends.Answer(Lost());
  TellOffer("b");
  Pass(Withdrawals::kLeaveTriedFor);

  Hold("c");
  EXPECT_EQ(session_->leases(), 1U);
}

TEST_F(SessionTest, CancelledWaitIsAnsweredAsSuch) {
  session_->Run({5, Acquire("a", seconds(60))});
  store_.acquires.Answer(AcquireOutcome(Waiting{.number = 1, .position = 1, .free_in = kTtl}));
  session_->Cancel(6);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
  session_->Cancel(5);
  EXPECT_EQ(store_.withdrawals.front().keeper, Acquire("a").keeper);
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  ASSERT_EQ(listener_.answered.size(), 1U);
  const auto& answer = std::get<AcquireAnswer>(*listener_.answered.front().answer);
  EXPECT_EQ(std::get<Contention>(answer).reason, ContentionReason::kCancelled);
}

TEST_F(SessionTest, IdOfAWaitingAcquireIsRefused) {
  session_->Run({5, Acquire("a", seconds(60))});
  session_->Run({5, Acquire("b", seconds(60))});
  ASSERT_EQ(listener_.answered.size(), 1U);
  EXPECT_EQ(FieldOf(listener_.answered.front().answer.status()), "id");
  EXPECT_EQ(store_.acquires.size(), 1U);
}

TEST_F(SessionTest, AfterTheBreakLeasesRunOnAndLaterGrantsAreWithdrawn) {
  Hold("a");
  session_->Run({2, Acquire("b")});
  session_->Run({3, Acquire("c", seconds(60))});
  store_.acquires.Answer(AcquireOutcome(Granted("b")));
  session_->Run({4, Acquire("d")});
  const size_t answered = listener_.answered.size();
  session_->Break();
  store_.acquires.Answer(AcquireOutcome(Waiting{.number = 1, .position = 1, .free_in = kTtl}));
  store_.acquires.Answer(AcquireOutcome(Granted("d")));
  ASSERT_EQ(store_.withdrawals.size(), 2U);
  EXPECT_EQ(store_.withdrawals.front().name, "c") << "its place in line";
  store_.withdrawals.Answer(WithdrawResult::kNotGranted);
  EXPECT_EQ(store_.withdrawals.front().name, "d") << "granted to nobody";
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  EXPECT_EQ(store_.releases.size(), 0U);
  EXPECT_EQ(listener_.answered.size(), answered) << "nobody is told any more";
}

TEST_F(SessionTest, ReleaseAllReleasesAllAndCountsThem) {
  Hold("a");
  Hold("b");
  Caught<int32_t> released;
  session_->ReleaseAll(released.Into());
  const std::string ended = store_.withdrawals.front().name;
  WithdrawResult withdrawn = WithdrawResult::kWithdrawn;
  withdrawn.held = Millis(1'500);
  store_.withdrawals.Answer(withdrawn);
  EXPECT_FALSE(released.came());
  store_.withdrawals.Answer(WithdrawResult::kKept);
  EXPECT_EQ(observer_.held_for, std::vector<Micros>{Millis(1'500)});
  EXPECT_EQ(listener_.kept_released, std::vector<std::string>{ended});
  EXPECT_EQ(listener_.kept_released_tokens, std::vector{Granted(ended).token});
  EXPECT_EQ(*released.value(), 1) << "the other one had ended, or somebody else has it";
  EXPECT_EQ(session_->leases(), 0U);
}

// Whatever way a lease came to this session, it releases it as who kept it then.
TEST_F(SessionTest, ReleaseAllReleasesEachLeaseAsItsKeeper) {
  const auto keeper_that_releases = [this] {
    Caught<int32_t> released;
    session_->ReleaseAll(released.Into());
    const WithdrawRequest asked = store_.withdrawals.front();
    EXPECT_EQ(asked.scope, WithdrawScope::kRelease);
    EXPECT_EQ(asked.lease_id, Id("a"));
    store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
    return asked.keeper;
  };
  Hold("a");
  session_->Run({2, Extend("a")});
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(keeper_that_releases(), Acquire("a").keeper) << "granted, and extended since";

  TellOffer("a");
  session_->Run({3, Extend("a")});
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(keeper_that_releases(), Acquire("a").keeper) << "claimed";

  Hold("a");
  Caught<Lease> adopted;
  session_->Adopt(Adoption("a"), adopted.Into());
  EXPECT_EQ(store_.extends.front().keeper, Adoption("a").keeper);
  store_.extends.Answer(Granted("a"));
  EXPECT_EQ(keeper_that_releases(), *Adoption("a").keeper) << "adopted, though it was granted here";
}

TEST_F(SessionTest, LastAnswersMayComeWhenOnlyTheyHoldTheSession) {
  Hold("a");
  Pass(seconds(11));
  StartHeartbeat();
  session_->Run({2, Acquire("b")});
  session_->Break();
  const std::weak_ptr<Session> weak = std::exchange(session_, nullptr);
  store_.extends.Answer(Granted("a"));
  EXPECT_FALSE(weak.expired());
  store_.acquires.Answer(Away());
  EXPECT_TRUE(weak.expired());
  EXPECT_FALSE(beaten_);
}

}  // namespace
}  // namespace lockkeeper::core
