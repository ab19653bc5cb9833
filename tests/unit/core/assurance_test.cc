// SPDX-License-Identifier: Apache-2.0
//
// Leases that the store has to confirm more of than it does by its answers: which it is asked to,
// and what becomes of those of which it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "core/domain.h"
#include "core/errors.h"
#include "support/manual_executor.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::core {
namespace {

using std::chrono::seconds;

constexpr Millis kRequestTimeout{1'000};

class AssuranceTest : public testing::Test {
 protected:
  explicit AssuranceTest(Assurance least = Assurance::kNone)
      : domain_(store_, &store_, clock_, executor_, observer_,
                {.request_timeout = kRequestTimeout, .min_assurance = least}),
        locks_(domain_.locks()) {}

  AcquireRequest Request(Assurance wanted = Assurance::kNone) const {
    AcquireRequest request;
    request.name = "a";
    request.lease_id = id_;
    request.attempt = 3;
    request.ttl = seconds(30);
    request.keeper = keeper_;
    request.min_assurance = wanted;
    request.deadline = Instant::max();
    return request;
  }

  Lease LeaseWith(Assurance assurance) const {
    Lease lease;
    lease.name = "a";
    lease.lease_id = id_;
    lease.token = FencingToken{42};
    lease.remaining_ttl = seconds(30);
    lease.lease_end = NodeTime{1'000};
    lease.assurance = assurance;
    return lease;
  }

  // The store has granted the lock, and confirms that it is in its memory.
  void Grant(const AcquireRequest& request) {
    locks_.Acquire(request, acquired_.Into());
    store_.acquires.Answer(AcquireOutcome(LeaseWith(Assurance::kMemory)));
  }

  // The acquire stands in line.
  void Wait(AcquireRequest request, ClaimMode claim) {
    request.wait_timeout = seconds(10);
    request.claim = claim;
    locks_.Acquire(request, acquired_.Into());
    store_.acquires.Answer(
        AcquireOutcome(Waiting{.number = 7, .position = 1, .free_in = seconds(5)}));
  }

  // An acquire that may wait, on its way to the store.
  void AskToWait() {
    AcquireRequest request = Request();
    request.wait_timeout = seconds(10);
    request.claim = ClaimMode::kByClient;
    locks_.Acquire(request, acquired_.Into());
  }

  // It was the turn of the acquire at once.
  void AnswerWithOffer() {
    Lease offered = LeaseWith(Assurance::kMemory);
    offered.offered = true;
    offered.remaining_ttl = seconds(1);
    store_.acquires.Answer(AcquireOutcome(offered));
  }

  void HearOfOffer(int64_t token = 8) {
    store_.listener->OnOffer({.name = "a",
                              .lease_id = id_,
                              .token = FencingToken{token},
                              .remaining = seconds(1),
                              .ttl = seconds(30),
                              .attempt = 3,
                              .keeper = keeper_,
                              .assurance = Assurance::kMemory});
  }

  void ExtendIt() {
    locks_.Extend({.name = "a", .lease_id = id_, .deadline = Instant::max()}, extended_.Into());
  }

  std::optional<ErrorReason> Reason() const { return ReasonOf(acquired_.value().status()); }
  const Lease& Granted() const { return std::get<Lease>(*acquired_.value()); }

  const LeaseId id_ = LeaseId::FromBits(1, 2);
  const Keeper keeper_{7, 8};
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PendingStore store_;
  RecordingObserver observer_;
  Domain domain_;
  LockManager& locks_;
  Caught<AcquireAnswer> acquired_;
  Caught<Lease> extended_;
};

// All leases need replicas.
class ReplicasTest : public AssuranceTest {
 protected:
  ReplicasTest() : AssuranceTest(Assurance::kReplicas) {}
};

TEST_F(AssuranceTest, GrantThatTheStoreConfirmsByItsAnswerIsHandedOnAtOnce) {
  Grant(Request(Assurance::kMemory));

  EXPECT_TRUE(acquired_.came() && acquired_.value().ok());
  EXPECT_EQ(store_.confirmations.size(), 0U);
}

TEST_F(AssuranceTest, GrantIsHandedOnOnceTheStoreHasConfirmedIt) {
  Grant(Request(Assurance::kReplicas));
  ASSERT_FALSE(acquired_.came());
  EXPECT_EQ(store_.confirmations.front().name, "a");
  EXPECT_EQ(store_.confirmations.front().wanted, Assurance::kReplicas);
  EXPECT_GT(store_.confirmations.front().deadline, clock_.Now());
  EXPECT_LT(store_.confirmations.front().deadline, clock_.Now() + kRequestTimeout)
      << "the rest is for taking it back";

  store_.confirmations.Answer(Assurance::kReplicas);

  ASSERT_TRUE(acquired_.came() && acquired_.value().ok());
  EXPECT_EQ(Granted().assurance, Assurance::kReplicas);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
  EXPECT_EQ(locks_.outstanding(), 0U);
}

TEST_F(AssuranceTest, GrantOfWhichTooLittleIsConfirmedIsTakenBackBeforeItIsRefused) {
  Grant(Request(Assurance::kReplicas));
  store_.confirmations.Answer(Assurance::kDisk);

  ASSERT_FALSE(acquired_.came()) << "the caller waits for the clean-up";
  EXPECT_EQ(store_.withdrawals.front().keeper, keeper_);
  EXPECT_EQ(store_.withdrawals.front().attempt, 3);
  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kLeaseToo);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  ASSERT_TRUE(acquired_.came());
  EXPECT_EQ(Reason(), ErrorReason::kAssuranceNotReached);
  EXPECT_EQ(locks_.outstanding(), 0U);
}

TEST_F(AssuranceTest, GrantThatCannotBeTakenBackIsUnknown) {
  Grant(Request(Assurance::kReplicas));
  store_.confirmations.Answer(Assurance::kMemory);
  store_.withdrawals.Answer(Error(ErrorReason::kStoreUnavailable, "away"));

  ASSERT_TRUE(acquired_.came());
  EXPECT_EQ(Reason(), ErrorReason::kOutcomeUnknown);
}

// Found by the simulator: nobody got the lock while the store was asked for nobody.
TEST_F(AssuranceTest, GrantWhoseCallerLeavesWhileItIsConfirmedIsTakenBackAtOnce) {
  Grant(Request(Assurance::kReplicas));
  locks_.Abandon(keeper_);

  EXPECT_EQ(store_.withdrawals.front().keeper, keeper_);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  ASSERT_TRUE(acquired_.came() && acquired_.value().ok());
  EXPECT_EQ(std::get<Contention>(*acquired_.value()).reason, ContentionReason::kCancelled);
  store_.confirmations.Answer(Assurance::kReplicas);  // Too late for anybody.
  EXPECT_EQ(locks_.outstanding(), 0U);
}

TEST_F(AssuranceTest, ExtendWaitsForNothingThatNobodyAsksFor) {
  ExtendIt();
  store_.extends.Answer(LeaseWith(Assurance::kMemory));

  EXPECT_TRUE(extended_.came() && extended_.value().ok());
  EXPECT_EQ(store_.confirmations.size(), 0U);
}

TEST_F(ReplicasTest, GrantNeedsThemWhateverItsRequestAsks) {
  Grant(Request(Assurance::kNone));

  EXPECT_FALSE(acquired_.came());
  EXPECT_EQ(store_.confirmations.front().wanted, Assurance::kReplicas);
}

TEST_F(ReplicasTest, ExtendOfWhichTooLittleIsConfirmedStandsAndSaysSo) {
  ExtendIt();
  store_.extends.Answer(LeaseWith(Assurance::kMemory));
  ASSERT_FALSE(extended_.came());
  store_.confirmations.Answer(Assurance::kMemory);

  ASSERT_TRUE(extended_.came() && extended_.value().ok());
  EXPECT_EQ(extended_.value()->assurance, Assurance::kMemory);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

TEST_F(ReplicasTest, ConfirmedExtendSaysSo) {
  ExtendIt();
  store_.extends.Answer(LeaseWith(Assurance::kMemory));
  store_.confirmations.Answer(Assurance::kReplicas);

  ASSERT_TRUE(extended_.came() && extended_.value().ok());
  EXPECT_EQ(extended_.value()->assurance, Assurance::kReplicas);
}

TEST_F(ReplicasTest, ClaimOfWhichTooLittleIsConfirmedIsTakenBack) {
  const std::vector<std::pair<absl::StatusOr<WithdrawResult>, ErrorReason>> cases = {
      {WithdrawResult::kWithdrawn, ErrorReason::kAssuranceNotReached},
      {WithdrawResult::kKept, ErrorReason::kOutcomeUnknown},
      {Error(ErrorReason::kStoreUnavailable, "away"), ErrorReason::kOutcomeUnknown}};
  for (const auto& [withdrawal, told] : cases) {
    Caught<Lease> claimed;
    locks_.Extend({.name = "a", .lease_id = id_, .deadline = Instant::max()}, claimed.Into());
    Lease lease = LeaseWith(Assurance::kMemory);
    lease.asked = Assurance::kReplicas;
    store_.extends.Answer(lease);
    store_.confirmations.Answer(Assurance::kMemory);

    ASSERT_FALSE(claimed.came()) << "its client waits for the clean-up";
    EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kClaim);
    EXPECT_EQ(store_.withdrawals.front().token, lease.token);
    store_.withdrawals.Answer(withdrawal);
    ASSERT_TRUE(claimed.came());
    EXPECT_EQ(ReasonOf(claimed.value().status()), told);
  }
}

TEST_F(AssuranceTest, ClaimNeedsWhatTheStoreSaysThatItsClientHasAskedFor) {
  ExtendIt();
  Lease lease = LeaseWith(Assurance::kMemory);
  lease.asked = Assurance::kReplicas;
  store_.extends.Answer(lease);
  EXPECT_EQ(store_.confirmations.front().wanted, Assurance::kReplicas);
  store_.confirmations.Answer(Assurance::kReplicas);

  ASSERT_TRUE(extended_.came() && extended_.value().ok());
  EXPECT_EQ(extended_.value()->assurance, Assurance::kReplicas);
  EXPECT_EQ(locks_.outstanding(), 0U);
  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kLetClaimStand)
      << "so that the next extend need not be confirmed";
  EXPECT_EQ(store_.withdrawals.front().token, lease.token);
}

TEST_F(AssuranceTest, ClaimThatTheReplyConfirmsEnoughOfStandsToo) {
  ExtendIt();
  Lease lease = LeaseWith(Assurance::kDisk);
  lease.asked = Assurance::kDisk;
  store_.extends.Answer(lease);

  ASSERT_TRUE(extended_.came() && extended_.value().ok());
  EXPECT_EQ(store_.confirmations.size(), 0U);
  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kLetClaimStand);
}

TEST_F(ReplicasTest, HeartbeatWaitsForNoConfirmation) {
  locks_.Extend({.name = "a", .lease_id = id_, .deadline = Instant::max(), .is_heartbeat = true},
                extended_.Into());
  Lease lease = LeaseWith(Assurance::kMemory);
  lease.asked = Assurance::kReplicas;  // The first one after the claim.
  store_.extends.Answer(lease);

  EXPECT_TRUE(extended_.came() && extended_.value().ok());
  EXPECT_EQ(store_.confirmations.size(), 0U);
}

TEST_F(ReplicasTest, OfferIsPassedOnOnceItIsConfirmed) {
  Wait(Request(), ClaimMode::kByDaemon);
  HearOfOffer();
  EXPECT_EQ(store_.extends.size(), 0U);
  EXPECT_LE(store_.confirmations.front().deadline, clock_.Now() + Millis(500))
      << "the rest of the offer's second is for its claim";
  store_.confirmations.Answer(Assurance::kReplicas);

  EXPECT_EQ(store_.extends.size(), 1U);
}

TEST_F(ReplicasTest, OfferOfWhichTooLittleIsConfirmedIsPutBackAndItsWaiterGoesOnWaiting) {
  for (const ClaimMode claim : {ClaimMode::kByDaemon, ClaimMode::kByClient}) {
    Caught<AcquireAnswer> answer;
    AcquireRequest request = Request();
    request.wait_timeout = seconds(10);
    request.claim = claim;
    locks_.Acquire(request, answer.Into());
    store_.acquires.Answer(
        AcquireOutcome(Waiting{.number = 7, .position = 1, .free_in = seconds(5)}));
    HearOfOffer(8);
    store_.confirmations.Answer(Assurance::kMemory);

    EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kPutBack);
    EXPECT_EQ(store_.withdrawals.front().token, FencingToken{8});
    EXPECT_EQ(store_.withdrawals.front().keeper, keeper_);
    HearOfOffer(8);  // As a poll finds it that was under way.
    EXPECT_EQ(store_.confirmations.size(), 0U);
    store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
    EXPECT_FALSE(answer.came());
    EXPECT_EQ(locks_.waiting(), 1U);

    HearOfOffer(9);
    store_.confirmations.Answer(Assurance::kReplicas);
    if (claim == ClaimMode::kByDaemon) {
      store_.extends.Answer(LeaseWith(Assurance::kReplicas));
    }
    EXPECT_TRUE(answer.came() && answer.value().ok());
  }
}

// Those behind a waiter whose daemon cannot confirm anything must not wait for ever.
TEST_F(ReplicasTest, WaiterWhoseOffersAreNotConfirmedIsPassedOverAndStandsAgain) {
  Wait(Request(), ClaimMode::kByClient);
  HearOfOffer(8);
  store_.confirmations.Answer(Assurance::kMemory);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  HearOfOffer(9);
  store_.confirmations.Answer(Assurance::kMemory);

  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kPassOver);
  EXPECT_EQ(store_.withdrawals.front().token, FencingToken{9});
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  HearOfOffer(9);
  EXPECT_EQ(store_.confirmations.size(), 0U) << "it is known not to be confirmed";
  EXPECT_EQ(locks_.waiting(), 1U);
  for (int tries = 0; tries < 2; ++tries) {
    EXPECT_EQ(store_.acquires.size(), 0U);
    executor_.AdvanceUntil([this] { return store_.acquires.size() > 0; }, seconds(3));
    ASSERT_EQ(store_.acquires.size(), 1U) << "it has to stand again, however often that fails";
    if (tries == 0) store_.acquires.Answer(Error(ErrorReason::kStoreUnavailable, "away"));
  }
  store_.acquires.Answer(AcquireOutcome(Waiting{.number = 7, .position = 1}));

  HearOfOffer(10);
  store_.confirmations.Answer(Assurance::kReplicas);
  EXPECT_TRUE(acquired_.came() && acquired_.value().ok());
}

TEST_F(ReplicasTest, AcquireThatDoesNotWaitIsTakenBackIfItsOfferIsNotConfirmed) {
  AcquireRequest request = Request();
  request.claim = ClaimMode::kByClient;
  locks_.Acquire(request, acquired_.Into());
  AnswerWithOffer();
  store_.confirmations.Answer(Assurance::kMemory);

  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kLeaseToo);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  ASSERT_TRUE(acquired_.came());
  EXPECT_EQ(Reason(), ErrorReason::kAssuranceNotReached);
}

TEST_F(ReplicasTest, OfferInTheReplyIsPutBackToo) {
  AskToWait();
  AnswerWithOffer();
  store_.confirmations.Answer(Assurance::kMemory);

  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kPutBack);
  EXPECT_FALSE(acquired_.came());
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  EXPECT_TRUE(observer_.withdrawals.empty()) << "nobody was given anything";
}

TEST_F(ReplicasTest, WaiterWhoseOfferIsBeingConfirmedMayLeave) {
  Wait(Request(), ClaimMode::kByDaemon);
  HearOfOffer();
  locks_.Abandon(keeper_);

  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kLeaseToo);
  store_.confirmations.Answer(Assurance::kReplicas);
  EXPECT_EQ(store_.extends.size(), 0U) << "claimed for nobody";
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  EXPECT_TRUE(acquired_.came());
}

TEST_F(ReplicasTest, OfferThatWasBeingConfirmedIsToldWithWhatIsLeftOfIt) {
  Wait(Request(), ClaimMode::kByClient);
  HearOfOffer();
  executor_.AdvanceBy(Millis(300));
  store_.confirmations.Answer(Assurance::kReplicas);

  ASSERT_TRUE(acquired_.came() && acquired_.value().ok());
  EXPECT_EQ(Granted().remaining_ttl, Millis(700));
}

TEST_F(ReplicasTest, CallerThatLeftBeforeItsOfferCameInTheReplyKeepsNoPlace) {
  AskToWait();
  locks_.Abandon(keeper_);
  AnswerWithOffer();

  EXPECT_EQ(store_.confirmations.size(), 0U);
  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kLeaseToo);
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  EXPECT_TRUE(acquired_.came());
}

TEST_F(ReplicasTest, WaiterWhoseOfferIsPutBackWhileTheDaemonDrainsIsToldSo) {
  AskToWait();
  locks_.StartDraining();
  AnswerWithOffer();
  store_.confirmations.Answer(Assurance::kMemory);
  executor_.RunUntilIdle();

  EXPECT_EQ(store_.withdrawals.front().scope, WithdrawScope::kPutBack);
  ASSERT_TRUE(acquired_.came());
  EXPECT_EQ(Reason(), ErrorReason::kServerDraining);
}

TEST_F(ReplicasTest, AcquireThatDoesNotWaitHearsWhetherItsOfferIsConfirmed) {
  AcquireRequest request = Request();
  request.claim = ClaimMode::kByClient;
  locks_.Acquire(request, acquired_.Into());
  AnswerWithOffer();
  executor_.AdvanceBy(Millis(300));
  store_.confirmations.Answer(Assurance::kReplicas);

  ASSERT_TRUE(acquired_.came() && acquired_.value().ok());
  EXPECT_TRUE(Granted().offered);
  EXPECT_EQ(store_.withdrawals.size(), 0U);
}

// A poll has told the daemon that its line was lost.
TEST_F(ReplicasTest, LeaseOfAClientThatStoodAgainIsTakenBackIfTooLittleOfItIsConfirmed) {
  Wait(Request(), ClaimMode::kByClient);
  executor_.AdvanceUntil([this] { return store_.polls.size() > 0; }, seconds(2));
  store_.polls.Answer(PollAnswer{.lost = true});
  store_.acquires.Answer(AcquireOutcome(LeaseWith(Assurance::kMemory)));
  store_.confirmations.Answer(Assurance::kMemory);

  ASSERT_FALSE(acquired_.came());
  store_.withdrawals.Answer(WithdrawResult::kWithdrawn);
  ASSERT_TRUE(acquired_.came());
  EXPECT_EQ(Reason(), ErrorReason::kAssuranceNotReached);
}

}  // namespace
}  // namespace lockkeeper::core
