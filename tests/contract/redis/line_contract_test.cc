// SPDX-License-Identifier: Apache-2.0
//
// The line of waiters: offers that lapse, are declined and are claimed. The simulator looks at
// lines in every way; here is what it once found.
#include <functional>
#include <vector>

#include "contract/redis/redis_contract.h"

namespace lockkeeper::support {
namespace {

using core::AcquireRequest;
using core::PollAnswer;
using core::WithdrawResult;

constexpr Micros kOfferTtl{1'000'000};

class LineContract : public RedisContract {
 protected:
  // The first daemon asks about its waiters.
  PollAnswer Poll() {
    const auto answer = AskOnLoop<PollAnswer>([&](core::Done<PollAnswer> done) {
      world_->daemon(0).line.Poll({.name = "a", .line = line_, .deadline = Deadline()},
                                  std::move(done));
    });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(PollAnswer());
  }

  // An acquire of the first daemon, which claims for it.
  AcquireRequest WaiterOf(const LeaseId& id, int32_t attempt = 1) {
    AcquireRequest request = AcquireOf("a", id);
    request.wait_timeout = Millis(60'000);
    request.attempt = attempt;
    request.keeper = core::Keeper(1, static_cast<uint64_t>(attempt));
    return request;
  }

  // The same, whose client claims.
  AcquireRequest ConfirmingOf(const LeaseId& id, int32_t attempt = 1) {
    AcquireRequest request = WaiterOf(id, attempt);
    request.claim = core::ClaimMode::kByClient;
    return request;
  }

  // The same, who asks for more than this store confirms: as a retry, which it takes all the same.
  AcquireRequest AssuredOf(const LeaseId& id, core::Assurance asked = core::Assurance::kReplicas) {
    AcquireRequest request = ConfirmingOf(id, /*attempt=*/2);
    request.min_assurance = asked;
    return request;
  }

  LeaseId NewId() { return Id(100 + ids_++); }

  void Stand(const AcquireRequest& request) {
    const auto outcome = Ask(request);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_TRUE(std::holds_alternative<core::Waiting>(*outcome));
    number_ = std::get<core::Waiting>(*outcome).number;
    line_ = std::get<core::Waiting>(*outcome).line;
  }

  // Lets `request` wait behind a lease that then ends, and be offered the lock.
  void Offer(const AcquireRequest& request, const LeaseId& before) {
    Grant("a", before);
    Stand(request);
    StepBy(kTtl);
    const PollAnswer answer = Poll();
    ASSERT_TRUE(answer.offer.has_value());
    EXPECT_EQ(answer.offer->lease_id, request.lease_id);
  }

  WithdrawResult Decline(const AcquireRequest& of, core::WithdrawScope scope) {
    core::WithdrawRequest request = WithdrawOf(of);
    request.scope = scope;
    return Ask(request).value_or(WithdrawResult::kNotGranted);
  }
  WithdrawResult Decline(const AcquireRequest& of) {
    return Decline(of, core::WithdrawScope::kUnclaimedOnly);
  }
  WithdrawResult SetAside(const AcquireRequest& of) {
    return Decline(of, core::WithdrawScope::kSetAside);
  }

  WithdrawResult PutBack(const AcquireRequest& of, core::FencingToken token) {
    core::WithdrawRequest request = WithdrawOf(of);
    request.scope = core::WithdrawScope::kPutBack;
    request.token = token;
    return Ask(request).value_or(WithdrawResult::kNotGranted);
  }
  WithdrawResult AskOf(const core::Lease& claimed, core::WithdrawScope scope) {
    const core::WithdrawRequest request{.name = claimed.name,
                                        .lease_id = claimed.lease_id,
                                        .deadline = Deadline(),
                                        .scope = scope,
                                        .token = claimed.token};
    return Ask(request).value_or(WithdrawResult::kNotGranted);
  }
  WithdrawResult TakeBackClaim(const core::Lease& claimed) {
    return AskOf(claimed, core::WithdrawScope::kClaim);
  }

  // Who is offered the lock after the offer before has lapsed, and all who were parked are back.
  std::optional<LeaseId> OfferedNext() {
    StepBy(kOfferTtl);
    Poll();
    const PollAnswer answer = Poll();
    return answer.offer ? std::optional(answer.offer->lease_id) : std::nullopt;
  }

  // The first daemon hears messages from now on, so that it can be offered the lock by another call
  // than its poll.
  void Listen() {
    world_->OnLoop([&] { world_->daemon(0).line.Listen(deaf); });
    const std::string channel = redis::KeyLayout("lk:").ChannelPrefix() + core::Hex16(1);
    ASSERT_TRUE(world_->Await(
        [&] { return world_->Run({"PUBSUB", "CHANNELS", channel}).items.size() == 1; }));
  }

  class DeafListener final : public core::LineListener {
   public:
    void OnOffer(const core::Offer&) override {}
    void OnWaiterReleased(const std::string&, const LeaseId&) override {}
  };

  static inline DeafListener deaf;  // Messages may come until the daemon is gone.
  int64_t number_ = 0;              // Of the last one that stood in line,
  int64_t line_ = 0;                // and its line.
  uint64_t ids_ = 0;                // That NewId() has given.
};

// The hand-over took the daemon for stuck in the very call in which it showed that it lives: no
// waiter of it was ever offered the lock again.
TEST_P(LineContract, DaemonThatDidNotClaimInTimeIsOfferedTheLockAgainOnceItAsks) {
  Offer(WaiterOf(Id(1)), Id(2));

  StepBy(kOfferTtl);
  EXPECT_TRUE(Poll().unfinished);
  const PollAnswer again = Poll();

  ASSERT_TRUE(again.offer.has_value());
  EXPECT_EQ(again.offer->lease_id, Id(1));
  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok());
}

TEST_P(LineContract, OfferIsDeclined) {
  Offer(WaiterOf(Id(1)), Id(2));

  EXPECT_EQ(Decline(WaiterOf(Id(1))), WithdrawResult::kWithdrawn);

  EXPECT_EQ(ReasonOf(Ask(ExtendOf("a", Id(1)))), ErrorReason::kLeaseLost);
  Grant("a", Id(3));
}

TEST_P(LineContract, OfferedLockIsNotClosed) {
  Offer(WaiterOf(Id(1)), Id(2));

  EXPECT_EQ(Contend("a", Id(3)).reason, core::ContentionReason::kHeld);
}

TEST_P(LineContract, ClosedLockWithALineIsClosed) {
  core::AcquireRequest holder = AcquireOf("a", Id(2));
  holder.lock_delay = Millis(5'000);
  Grant(holder);
  Stand(WaiterOf(Id(1)));
  EXPECT_EQ(Contend("a", Id(3)).reason, core::ContentionReason::kHeld);

  StepBy(kTtl);

  const core::Contention closed = Contend("a", Id(3));
  EXPECT_EQ(closed.reason, core::ContentionReason::kClosed);
  EXPECT_EQ(closed.waiters, 1);
}

// Its client had been told of the first offer. A second one cost the next waiter another second.
TEST_P(LineContract, PlaceThatWasSetAsideIsOfferedTheLockAgainOnlyWhenItIsAcquiredAgain) {
  Listen();
  Grant("a", Id(9));
  Stand(ConfirmingOf(Id(1)));
  const int64_t number = number_;
  Stand(ConfirmingOf(Id(2)));
  StepBy(kTtl);
  ASSERT_TRUE(Poll().offer.has_value());
  ASSERT_EQ(OfferedNext(), Id(2))
      << "the first one goes back behind the offer that follows its own";
  ASSERT_EQ(OfferedNext(), Id(1));

  EXPECT_EQ(SetAside(ConfirmingOf(Id(1))), WithdrawResult::kWithdrawn);

  EXPECT_EQ(ReasonOf(Ask(ExtendOf("a", Id(1)))), ErrorReason::kLeaseLost) << "its offer has lapsed";
  EXPECT_EQ(OfferedNext(), Id(2));
  EXPECT_EQ(OfferedNext(), Id(2)) << "the only one that is there";
  Stand(ConfirmingOf(Id(1), 2));
  EXPECT_EQ(number_, number) << "it has kept its place";
  EXPECT_EQ(OfferedNext(), Id(1));
  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok());
}

TEST_P(LineContract, SettingAsideHandsTheLockOn) {
  Listen();
  Offer(ConfirmingOf(Id(1)), Id(9));
  Stand(ConfirmingOf(Id(2)));

  EXPECT_EQ(SetAside(ConfirmingOf(Id(1))), WithdrawResult::kWithdrawn);

  EXPECT_TRUE(Ask(ExtendOf("a", Id(2))).ok()) << "it has the offer at once";
  EXPECT_EQ(SetAside(ConfirmingOf(Id(1))), WithdrawResult::kKept) << "it has no offer any more";
}

// Older data may bring back the place of a call that its daemon claimed for.
TEST_P(LineContract, DaemonThatSetsAPlaceAsideIsNotTakenForStuck) {
  Listen();
  Offer(WaiterOf(Id(1)), Id(9));
  Stand(WaiterOf(Id(2)));

  EXPECT_EQ(SetAside(WaiterOf(Id(1))), WithdrawResult::kWithdrawn);

  EXPECT_TRUE(Ask(ExtendOf("a", Id(2))).ok()) << "it has the offer at once";
}

TEST_P(LineContract, PlaceThatWasSetAsideIsForgottenAfterHalfAMinute) {
  Offer(ConfirmingOf(Id(1)), Id(9));
  Stand(ConfirmingOf(Id(2)));
  const int64_t number = number_;
  ASSERT_EQ(SetAside(ConfirmingOf(Id(1))), WithdrawResult::kWithdrawn);
  ASSERT_EQ(OfferedNext(), Id(2));
  ASSERT_TRUE(Ask(ExtendOf("a", Id(2), Millis(60'000))).ok());
  StepBy(Millis(30'000));
  Poll();

  Stand(ConfirmingOf(Id(1), 2));

  EXPECT_GT(number_, number) << "at the end of the line";
}

// Others have forgotten its waiters by then, and the line is still the same.
TEST_P(LineContract, WaitersOfADaemonThatWasNotHeardOfForLongHaveToStandAgain) {
  Grant("a", Id(9));
  ASSERT_TRUE(Ask(ExtendOf("a", Id(9), Millis(60'000))).ok());
  Stand(WaiterOf(Id(1)));
  StepBy(Millis(32'900));
  EXPECT_FALSE(Poll().lost);
  StepBy(Millis(20'000));
  EXPECT_FALSE(Poll().lost);
  ASSERT_TRUE(Ask(ExtendOf("a", Id(9), Millis(60'000))).ok());
  StepBy(Millis(33'000));

  EXPECT_TRUE(Poll().lost);
  Stand(WaiterOf(Id(1)));
  EXPECT_FALSE(Poll().lost);
}

TEST_P(LineContract, OfferThatWasClaimedOrTakenOverIsNotSetAside) {
  Offer(ConfirmingOf(Id(1)), Id(9));
  ASSERT_TRUE(Ask(ConfirmingOf(Id(1), 2)).ok());
  EXPECT_EQ(SetAside(ConfirmingOf(Id(1))), WithdrawResult::kKept) << "its client was heard of";
  ASSERT_TRUE(Ask(ExtendOf("a", Id(1))).ok());

  EXPECT_EQ(SetAside(ConfirmingOf(Id(1), 2)), WithdrawResult::kKept);

  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok());
}

TEST_P(LineContract, OfferThatIsPutBackIsMadeToItsWaiterAgainByTheNextPoll) {
  Offer(WaiterOf(Id(1)), Id(9));
  Stand(WaiterOf(Id(2)));
  const core::FencingToken token = Get("a").token;

  EXPECT_EQ(PutBack(WaiterOf(Id(1)), token), WithdrawResult::kWithdrawn);

  EXPECT_EQ(ReasonOf(Ask(ExtendOf("a", Id(1)))), ErrorReason::kLeaseLost) << "nobody has an offer";
  EXPECT_EQ(Get("a").waiters, 2);
  const PollAnswer answer = Poll();
  ASSERT_TRUE(answer.offer.has_value());
  EXPECT_EQ(answer.offer->lease_id, Id(1));
  EXPECT_GT(answer.offer->token, token);
  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok());
}

TEST_P(LineContract, WaiterWhoseOfferWasPutBackLeavesItsPlace) {
  Offer(WaiterOf(Id(1)), Id(9));
  Stand(WaiterOf(Id(2)));
  PutBack(WaiterOf(Id(1)), Get("a").token);

  EXPECT_EQ(Withdraw(WaiterOf(Id(1))), WithdrawResult::kNotGranted);

  const PollAnswer answer = Poll();
  ASSERT_TRUE(answer.offer.has_value());
  EXPECT_EQ(answer.offer->lease_id, Id(2));
}

TEST_P(LineContract, LockWhoseOfferWasPutBackIsNotGrantedPastItsWaiter) {
  Listen();
  Offer(WaiterOf(Id(1)), Id(9));
  PutBack(WaiterOf(Id(1)), Get("a").token);

  Contend("a", Id(3));

  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok()) << "who came past has handed the lock over";
}

TEST_P(LineContract, OfferThatWasClaimedOrTakenOverOrMadeAnewIsNotPutBack) {
  Offer(ConfirmingOf(Id(1)), Id(9));
  const core::FencingToken token = Get("a").token;
  EXPECT_EQ(PutBack(ConfirmingOf(Id(1)), {token.value - 1}), WithdrawResult::kKept)
      << "of an offer before";
  ASSERT_TRUE(Ask(ConfirmingOf(Id(1), 2)).ok());
  EXPECT_EQ(PutBack(ConfirmingOf(Id(1)), token), WithdrawResult::kKept) << "of a later attempt";
  ASSERT_TRUE(Ask(ExtendOf("a", Id(1))).ok());

  EXPECT_EQ(PutBack(ConfirmingOf(Id(1), 2), token), WithdrawResult::kKept);

  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok());
}

TEST_P(LineContract, ClaimIsTakenBackAndTheNextOneIsOfferedTheLock) {
  Listen();
  Offer(AssuredOf(Id(1)), Id(9));
  Stand(AssuredOf(Id(2)));
  const core::Lease claimed = Extend(ExtendOf("a", Id(1)));

  EXPECT_EQ(TakeBackClaim(claimed), WithdrawResult::kWithdrawn);

  EXPECT_TRUE(Ask(ExtendOf("a", Id(2))).ok());
  EXPECT_EQ(ReasonOf(Ask(ExtendOf("a", Id(1)))), ErrorReason::kLeaseLost);
  EXPECT_EQ(ReasonOf(Ask(AssuredOf(Id(1)))), ErrorReason::kLeaseEnded);
  Stand(ConfirmingOf(Id(1), 3));
}

TEST_P(LineContract, ClaimSaysWhatItsClientHasAskedForWhicheverDaemonItGoesTo) {
  for (const core::Assurance asked :
       {core::Assurance::kNone, core::Assurance::kDisk, core::Assurance::kReplicas}) {
    for (const Millis hold : {Millis(0), Millis(1)}) {
      AcquireRequest request = AssuredOf(NewId(), asked);
      request.hold_at_least = hold;
      Offer(request, NewId());

      const auto claimed = Ask(ExtendOf("a", request.lease_id));

      ASSERT_TRUE(claimed.ok()) << claimed.status();
      EXPECT_EQ(claimed->asked, asked);
      StepBy(Millis(1));
      ASSERT_EQ(Release("a", request.lease_id), core::NotReleasedReason::kNone);
    }
  }
}

// Ways to tell a holder that it has the lease; none of them moves its end.
TEST_P(LineContract, ClaimOfWhichItsHolderWasToldSinceStays) {
  const auto extend = [this](const AcquireRequest& claimed) {
    return Ask(ExtendOf("a", claimed.lease_id)).ok();
  };
  const auto extend_less = [this](const AcquireRequest& claimed) {
    return Ask(ExtendOf("a", claimed.lease_id, Millis(1))).ok();
  };
  const auto repeat = [this](const AcquireRequest& claimed) {
    AcquireRequest again = claimed;
    ++again.attempt;
    again.keeper = core::Keeper(2, 7);
    return Ask(again, 1).ok();
  };
  const auto let_stand = [this](const AcquireRequest& claimed) {
    core::Lease lease;
    lease.name = claimed.name;
    lease.lease_id = claimed.lease_id;
    lease.token = Get("a").token;
    return AskOf(lease, core::WithdrawScope::kLetClaimStand) == WithdrawResult::kWithdrawn;
  };
  const std::vector<std::function<bool(const AcquireRequest&)>> ways = {extend, extend_less, repeat,
                                                                        let_stand};
  for (const auto& tell : ways) {
    for (const Millis hold : {Millis(0), Millis(1)}) {
      AcquireRequest request = AssuredOf(NewId());
      request.max_hold = request.ttl;  // No extend moves the end of its lease.
      request.hold_at_least = hold;
      Offer(request, NewId());
      const core::Lease claimed = Extend(ExtendOf("a", request.lease_id));
      StepBy(Millis(1));
      ASSERT_TRUE(tell(request));

      EXPECT_EQ(TakeBackClaim(claimed), WithdrawResult::kKept);

      EXPECT_EQ(Extend(ExtendOf("a", request.lease_id)).asked, core::Assurance::kNone);
      ASSERT_EQ(Release("a", request.lease_id), core::NotReleasedReason::kNone);
    }
  }
}

// Its client has asked again since, and hears no answer to the earlier attempt.
TEST_P(LineContract, CopyOfAnEarlierAttemptTellsNobodyOfAClaim) {
  for (const Millis hold : {Millis(0), Millis(1)}) {
    AcquireRequest request = AssuredOf(NewId());
    request.attempt = 3;
    request.hold_at_least = hold;
    Offer(request, NewId());
    const core::Lease claimed = Extend(ExtendOf("a", request.lease_id));
    AcquireRequest earlier = request;
    earlier.attempt = 2;
    earlier.keeper = core::Keeper(2, 7);
    ASSERT_TRUE(Ask(earlier, 1).ok());

    EXPECT_EQ(TakeBackClaim(claimed), WithdrawResult::kWithdrawn);
    StepBy(Millis(1));
  }
}

// Its claim may not have been answered.
TEST_P(LineContract, FirstExtendAfterAClaimSaysWhatWasAskedForOnceMore) {
  Offer(AssuredOf(Id(1)), Id(9));
  EXPECT_EQ(Extend(ExtendOf("a", Id(1))).asked, core::Assurance::kReplicas);

  EXPECT_EQ(Extend(ExtendOf("a", Id(1))).asked, core::Assurance::kReplicas);

  EXPECT_EQ(Extend(ExtendOf("a", Id(1))).asked, core::Assurance::kNone);
}

// A call passes 64 of them over. Whoever released goes on without a poll.
TEST_P(LineContract, HandOverGoesOnBehindMoreDeadWaitersThanOneCallPassesOver) {
  constexpr uint64_t kDead = 140;
  Listen();
  Grant("a", Id(9));
  for (uint64_t i = 0; i < kDead; ++i) {
    AcquireRequest dead = WaiterOf(NewId());
    dead.keeper = core::Keeper(2 + i, 1);
    Stand(dead);
  }
  Stand(WaiterOf(Id(1)));

  ASSERT_EQ(Release("a", Id(9)), core::NotReleasedReason::kNone);

  EXPECT_TRUE(world_->Await([this] { return RecordOf("a")[2] == 'O'; }));
  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok());
}

// Its holder has gone, and nobody has asked for it since.
TEST_P(LineContract, LockThatIsOnlyWaitedForIsListed) {
  Grant("a", Id(9));
  Stand(WaiterOf(Id(1)));
  StepBy(kTtl);

  const auto page =
      Ask(core::ListRequest{"", /*page_size=*/10, "", core::EndedLocks::kLeaveOut, Deadline()});

  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->locks.size(), 1U);
  EXPECT_EQ(page->locks[0].waiters, 1);
}

// Two that cannot have what they ask for must not keep the third out.
TEST_P(LineContract, ThoseThatArePassedOverKeepTheirPlacesAndOthersHaveATurn) {
  Offer(AssuredOf(Id(1)), Id(9));
  Stand(AssuredOf(Id(2)));
  const int64_t second = number_;
  Stand(WaiterOf(Id(3)));
  Listen();
  const auto pass_over = [this](const LeaseId& id) {
    core::WithdrawRequest over = WithdrawOf(AssuredOf(id));
    over.scope = core::WithdrawScope::kPassOver;
    over.token = Get("a").token;
    return Ask(over).value_or(WithdrawResult::kNotGranted);
  };
  EXPECT_EQ(pass_over(Id(1)), WithdrawResult::kWithdrawn);
  EXPECT_EQ(pass_over(Id(1)), WithdrawResult::kKept) << "it has no offer any more";
  EXPECT_EQ(pass_over(Id(2)), WithdrawResult::kWithdrawn);

  EXPECT_TRUE(Ask(ExtendOf("a", Id(3))).ok());

  Stand(AssuredOf(Id(2)));
  EXPECT_EQ(number_, second);
}

TEST_P(LineContract, OfferOfBeforeIsNotPassedOver) {
  Offer(AssuredOf(Id(1)), Id(9));
  core::WithdrawRequest over = WithdrawOf(AssuredOf(Id(1)));
  over.scope = core::WithdrawScope::kPassOver;
  over.token = {Get("a").token.value - 1};

  EXPECT_EQ(Ask(over).value_or(WithdrawResult::kNotGranted), WithdrawResult::kKept);

  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok());
}

TEST_P(LineContract, OnlyAClaimThatAsksForAssuranceIsTakenBack) {
  Offer(ConfirmingOf(Id(1)), Id(9));
  EXPECT_EQ(TakeBackClaim(Extend(ExtendOf("a", Id(1)))), WithdrawResult::kKept);
  ASSERT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNone);
  Offer(AssuredOf(Id(2)), Id(8));
  core::Lease claimed = Extend(ExtendOf("a", Id(2)));
  --claimed.token.value;
  EXPECT_EQ(TakeBackClaim(claimed), WithdrawResult::kKept) << "of a lease before";

  EXPECT_TRUE(Ask(ExtendOf("a", Id(2))).ok());
}

TEST_P(LineContract, OfferThatWasClaimedIsNoLongerDeclined) {
  Offer(WaiterOf(Id(1)), Id(2));
  ASSERT_TRUE(Ask(ExtendOf("a", Id(1))).ok());

  EXPECT_EQ(Decline(WaiterOf(Id(1))), WithdrawResult::kKept);

  EXPECT_TRUE(Ask(ExtendOf("a", Id(1))).ok());
}

TEST_P(LineContract, PlaceInLineIsDeclined) {
  Grant("a", Id(2));
  Stand(WaiterOf(Id(1)));

  EXPECT_EQ(Decline(WaiterOf(Id(1))), WithdrawResult::kNotGranted);

  ASSERT_EQ(Release("a", Id(2)), core::NotReleasedReason::kNone);
  EXPECT_EQ(ReasonOf(Ask(WaiterOf(Id(1)))), ErrorReason::kLeaseEnded);
  Grant("a", Id(3));
}

TEST_P(LineContract, WithdrawnAttemptTakesNoPlaceOverFromAnEarlierOne) {
  Grant("a", Id(2));
  Stand(WaiterOf(Id(1), 1));

  EXPECT_EQ(Withdraw(WaiterOf(Id(1), 3)), WithdrawResult::kKept);

  EXPECT_EQ(ReasonOf(Ask(WaiterOf(Id(1), 3))), ErrorReason::kLeaseEnded);
  const auto left = Ask(WithdrawOf(WaiterOf(Id(1), 1)));
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, WithdrawResult::kNotGranted);
  EXPECT_EQ(left->seen.position, 1);
}

TEST_P(LineContract, AttemptThatIsWithdrawnWhileAnEarlierOneHasTheOfferGrantsNothingLater) {
  Offer(WaiterOf(Id(1), 1), Id(2));
  EXPECT_EQ(Withdraw(WaiterOf(Id(1), 3)), WithdrawResult::kKept);
  EXPECT_EQ(Decline(WaiterOf(Id(1), 1)), WithdrawResult::kWithdrawn);

  EXPECT_EQ(ReasonOf(Ask(WaiterOf(Id(1), 3))), ErrorReason::kLeaseEnded);
  Grant("a", Id(3));
}

TEST_P(LineContract, AttemptAfterAWithdrawnOneTakesThePlaceOver) {
  Grant("a", Id(2));
  Stand(WaiterOf(Id(1), 1));
  const int64_t number = number_;
  EXPECT_EQ(Withdraw(WaiterOf(Id(1), 3)), WithdrawResult::kKept);

  Stand(WaiterOf(Id(1), 4));
  EXPECT_EQ(number_, number);
  EXPECT_EQ(Withdraw(WaiterOf(Id(1), 1)), WithdrawResult::kKept);
  EXPECT_EQ(Withdraw(WaiterOf(Id(1), 4)), WithdrawResult::kNotGranted);
}

// The repeat has the line's key from the start, as from a daemon that knows of the wait.
// A retry was given the offer, but the place in line stayed that of the attempt before: it was
// taken back with that attempt, or offered to a call that had ended.
TEST_P(LineContract, AttemptThatTakesAnOfferOverTakesThePlaceOverToo) {
  Offer(WaiterOf(Id(1), 1), Id(2));
  ASSERT_TRUE(Grant(WaiterOf(Id(1), 2)).offered);

  StepBy(kOfferTtl);
  EXPECT_EQ(Withdraw(WaiterOf(Id(1), 1)), WithdrawResult::kKept);
  EXPECT_TRUE(Poll().unfinished);
  const PollAnswer again = Poll();

  ASSERT_TRUE(again.offer.has_value());
  EXPECT_EQ(again.offer->attempt, 2);
  EXPECT_EQ(again.offer->keeper, WaiterOf(Id(1), 2).keeper);
}

// A network had delivered an acquire twice. Neither call is the keeper of the offer, and when its
// client had given up, its place was offered the lock once more.
TEST_P(LineContract, CallThatLeavesAnOfferOfTwoCallsLeavesItsPlace) {
  AcquireRequest copy = WaiterOf(Id(1));
  copy.keeper = core::Keeper(1, 7);
  Offer(WaiterOf(Id(1)), Id(2));
  ASSERT_TRUE(Grant(copy).offered);

  EXPECT_EQ(Withdraw(WaiterOf(Id(1))), WithdrawResult::kKept);
  EXPECT_EQ(OfferedNext(), Id(1)) << "the place is that of the later call";
  ASSERT_TRUE(Grant(WaiterOf(Id(1))).offered);
  Stand(WaiterOf(Id(3)));
  EXPECT_EQ(Withdraw(WaiterOf(Id(1))), WithdrawResult::kKept);

  EXPECT_EQ(OfferedNext(), Id(3));
  Extend(ExtendOf("a", Id(3)));
  EXPECT_EQ(RecordOf("a")[6], '-') << "nobody else stands there";
}

TEST_P(LineContract, EarlierAttemptTakesNoPlaceOverFromTheOneThatHasTheOffer) {
  Offer(WaiterOf(Id(1), 2), Id(2));
  ASSERT_TRUE(Grant(WaiterOf(Id(1), 1)).offered);

  StepBy(kOfferTtl);
  EXPECT_TRUE(Poll().unfinished);
  const PollAnswer again = Poll();

  ASSERT_TRUE(again.offer.has_value());
  EXPECT_EQ(again.offer->keeper, WaiterOf(Id(1), 2).keeper);
}

// An acquire found that an offer to its own daemon had lapsed, took that daemon for stuck, passed
// its waiters over, and was granted the lock before them all.
TEST_P(LineContract, AcquireDoesNotOvertakeTheWaitersOfItsOwnDaemonAfterALapsedOffer) {
  Listen();
  Grant("a", Id(9));
  Stand(WaiterOf(Id(1)));
  const int64_t first = number_;
  Stand(WaiterOf(Id(2)));
  number_ = first;
  StepBy(kTtl);
  ASSERT_EQ(Poll().offer->lease_id, Id(1));
  StepBy(kOfferTtl);

  const auto newcomer = Ask(WaiterOf(Id(3)));

  ASSERT_TRUE(newcomer.ok()) << newcomer.status();
  EXPECT_TRUE(std::holds_alternative<core::Waiting>(*newcomer));
  EXPECT_EQ(Poll().offer->lease_id, Id(2));
}

TEST_P(LineContract, WaiterThatLeavesSeesItsPlaceAndWhoHoldsTheLock) {
  AcquireRequest holder = AcquireOf("a", Id(9));
  holder.owner = "job 7 on host 12";
  Grant(holder);
  for (int i = 1; i <= 3; ++i) Stand(WaiterOf(Id(i)));
  StepBy(kTtl / 2);

  core::WithdrawRequest second = WithdrawOf(WaiterOf(Id(2)));
  const auto left = Ask(second);
  const auto again = Ask(second);
  core::WithdrawRequest third = WithdrawOf(WaiterOf(Id(3)));
  const auto left_next = Ask(third);

  ASSERT_TRUE(left.ok() && again.ok() && left_next.ok());
  EXPECT_EQ(*left, WithdrawResult::kNotGranted);
  EXPECT_EQ(left->seen.position, 2);
  EXPECT_EQ(left->seen.waiters, 2);
  EXPECT_EQ(left->seen.holder_owner, holder.owner);
  EXPECT_GT(left->seen.remaining_ttl, Micros(0));
  EXPECT_LE(left->seen.remaining_ttl, kTtl / 2);
  EXPECT_EQ(*again, WithdrawResult::kNotGranted);
  EXPECT_EQ(again->seen.position, 0) << "it stands there no more";
  EXPECT_EQ(left_next->seen.position, 2);
  EXPECT_EQ(left_next->seen.waiters, 1);
}

TEST_P(LineContract, WaiterThatLeavesAfterTheLeaseSeesNoHolder) {
  Grant("a", Id(9));
  Stand(WaiterOf(Id(1)));
  StepBy(kTtl);

  const auto left = Ask(WithdrawOf(WaiterOf(Id(1))));

  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->seen.position, 1);
  EXPECT_EQ(left->seen.waiters, 0);
  EXPECT_EQ(left->seen.holder_owner, "");
  EXPECT_EQ(left->seen.remaining_ttl, Micros(0));
}

TEST_P(LineContract, WaiterThatGivesItsOfferBackSeesNoPlace) {
  Offer(WaiterOf(Id(1)), Id(2));

  const auto left = Ask(WithdrawOf(WaiterOf(Id(1))));

  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, WithdrawResult::kWithdrawn);
  EXPECT_EQ(left->seen.position, 0);
}

LOCKKEEPER_REDIS_SUITE(LineContract);

}  // namespace
}  // namespace lockkeeper::support
