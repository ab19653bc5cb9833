// SPDX-License-Identifier: Apache-2.0
//
// A store that may have forgotten leases grants nothing until they are over, and knows how long the
// longest can be.
#include "contract/redis/guarded_contract.h"

namespace lockkeeper::support {
namespace {

using core::AcquireAnswer;
using core::AcquireRequest;
using core::Lease;
using core::PollAnswer;
using redis::LossKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

class QuarantineContract : public GuardedContract {
 protected:
  AcquireRequest WaiterOf(const std::string& name, const LeaseId& id) {
    AcquireRequest request = AcquireOf(name, id);
    request.wait_timeout = Millis(60'000);
    request.keeper = core::Keeper(1, 1);  // Of the first daemon.
    return request;
  }

  // `old_number`: that it had in a line that was lost.
  core::Waiting Stand(const AcquireRequest& request, size_t daemon = 0, int64_t old_number = 0) {
    const auto outcome = Ask(request, daemon, old_number);
    EXPECT_TRUE(outcome.ok() && std::holds_alternative<core::Waiting>(*outcome))
        << outcome.status();
    return outcome.ok() && std::holds_alternative<core::Waiting>(*outcome)
               ? std::get<core::Waiting>(*outcome)
               : core::Waiting();
  }

  void ExpectQuarantined(const AcquireRequest& request) {
    EXPECT_THAT(ReasonOf(Ask(request)), Optional(ErrorReason::kStoreQuarantined));
  }
};

TEST_P(QuarantineContract, NothingIsGrantedUntilTheLongestLeaseIsOver) {
  Grant("a", Id(1));
  ForgetEverything();

  ExpectQuarantined(AcquireOf("a", Id(2)));
  ExpectQuarantined(AcquireOf("b", Id(3)));
  ExpectQuarantined(WaiterOf("b", Id(4)));
  EXPECT_THAT(Noticed(), ElementsAre(LossKind::kEmptied));
  Pass(kQuarantine - Micros(1));
  ExpectQuarantined(AcquireOf("a", Id(2)));
  Pass(Micros(1));
  Grant("a", Id(2));
}

// Whoever joined after the data that came back waits in a line that does not have it.
TEST_P(QuarantineContract, AllWaitersStandAgainInALineThatMayBeOlder) {
  Grant("a", Id(1));
  const core::Waiting first = Stand(WaiterOf("a", Id(2)));
  const core::Waiting second = Stand(WaiterOf("a", Id(3)));
  for (const redis::Reply& member : world_->Run({"ZRANGE", "lk:{a}:line", "0", "-1"}).items) {
    if (member.text.find(Id(3).digits()) == std::string::npos) continue;
    world_->Run({"ZREM", "lk:{a}:line", member.text});
  }
  EXPECT_FALSE(Poll("a", first.line).lost) << "nobody knows yet";
  SetTheClock();

  EXPECT_TRUE(Poll("a", first.line).lost);
  EXPECT_EQ(Stand(WaiterOf("a", Id(2)), 0, first.number).number, first.number);
  const core::Waiting again = Stand(WaiterOf("a", Id(3)), 0, second.number);
  EXPECT_EQ(again.number, second.number);
  EXPECT_NE(again.line, first.line);
  EXPECT_FALSE(Poll("a", again.line).lost) << "once is enough";
}

TEST_P(QuarantineContract, RefusalTellsHowLongToWait) {
  Grant("a", Id(1));
  ForgetEverything();
  ExpectQuarantined(AcquireOf("a", Id(2)));
  Pass(Millis(20'000));

  const auto refused = Ask(AcquireOf("a", Id(2)));

  const auto delay = core::RetryDelayOf(refused.status());
  ASSERT_TRUE(delay.has_value());
  EXPECT_GE(*delay, kQuarantine - Millis(20'000));
  EXPECT_LE(*delay, kQuarantine - Millis(20'000) + Millis(100));
}

TEST_P(QuarantineContract, QuarantineIsForAllDaemons) {
  Grant("a", Id(1));
  Meet(1);
  ForgetEverything();

  ExpectQuarantined(AcquireOf("a", Id(2)));

  EXPECT_THAT(ReasonOf(Ask(AcquireOf("b", Id(3)), 1)), Optional(ErrorReason::kStoreQuarantined));
  EXPECT_EQ(Marker().substr(19, 10), "0000000002") << "one quarantine, whoever noticed the loss";
  Pass(kQuarantine);
  Grant(AcquireOf("b", Id(3)), 1);
}

TEST_P(QuarantineContract, RepeatOfALeaseOfBeforeIsRefused) {
  Grant("a", Id(1));
  SetTheClock();

  ExpectQuarantined(AcquireOf("a", Id(1)));
  EXPECT_THAT(Noticed(), ElementsAre(LossKind::kClockStep));
  Pass(kQuarantine);
  EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(1)))), Optional(ErrorReason::kLeaseEnded));
  Grant("a", Id(2));
}

TEST_P(QuarantineContract, HandOverIsHeldBack) {
  Grant("a", Id(1));
  const core::Waiting before = Stand(WaiterOf("a", Id(2)));
  SetTheClock();

  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);
  EXPECT_TRUE(Poll("a", before.line).lost) << "another epoch";
  const int64_t line = Stand(WaiterOf("a", Id(2)), 0, before.number).line;

  const PollAnswer early = Poll("a", line);
  EXPECT_FALSE(early.offer.has_value());
  EXPECT_GT(early.free_in, kQuarantine - Millis(100));
  ExpectQuarantined(AcquireOf("b", Id(3)));
  for (Micros left = kQuarantine; left > Micros(0); left -= Millis(1'000)) {
    Poll("a", line);  // As the daemon does, to keep its waiters in line.
    Pass(std::min<Micros>(left, Millis(1'000)));
  }
  const PollAnswer late = Poll("a", line);
  ASSERT_TRUE(late.offer.has_value());
  EXPECT_EQ(late.offer->lease_id, Id(2));
}

TEST_P(QuarantineContract, ReleaseOfAnUnknownLeaseIsNoError) {
  ForgetEverything();

  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);
}

// The clock that its end was told by was set back since: it may have ended.
TEST_P(QuarantineContract, ReleaseDoesNotSayReleasedOfALeaseThatMayBeOver) {
  Grant("a", Id(1));
  const core::ExtendRequest extend = ExtendOf("a", Id(1));
  const AcquireRequest repeated = AcquireOf("a", Id(1));
  Pass(kTtl - Millis(1));
  StepBy(-Millis(20'000));
  ASSERT_FALSE(Extended(extend).ok());

  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);

  EXPECT_EQ(Get("a").state, core::LockState::kEnded);
  Pass(kQuarantine);
  EXPECT_THAT(ReasonOf(Ask(Now(repeated))), Optional(ErrorReason::kLeaseEnded)) << "it is void";
  EXPECT_TRUE(Grant("a", Id(2)).previous_lease_expired) << "it may have";
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);
}

// The waiters of a line that was lost stand again in a new one, in which they have their order over
// all daemons. Nobody else may stand there before the quarantine is over.
TEST_P(QuarantineContract, WaitersTakeTheirPlacesAlongToAnotherLine) {
  Meet(1);
  Grant("a", Id(1));
  AcquireRequest first = WaiterOf("a", Id(2));
  AcquireRequest second = WaiterOf("a", Id(3));
  second.keeper = core::Keeper(2, 1);
  const core::Waiting old_first = Stand(first);
  const core::Waiting old_second = Stand(second, 1);
  ASSERT_LT(old_first.number, old_second.number);
  ForgetEverything();
  Pass(Millis(1));
  ExpectQuarantined(WaiterOf("a", Id(4)));
  EXPECT_TRUE(Poll("a", old_first.line).lost);

  second = Now(second);
  const core::Waiting new_second = Stand(second, 1, old_second.number);
  EXPECT_TRUE(Poll("a", old_first.line).lost) << "another line is there now";
  first = Now(first);
  const core::Waiting new_first = Stand(first, 0, old_first.number);

  EXPECT_EQ(new_first.number, old_first.number);
  EXPECT_EQ(new_first.position, 1);
  EXPECT_EQ(new_first.line, new_second.line);
  EXPECT_EQ(new_second.number, old_second.number);
  ExpectQuarantined(AcquireOf("a", Id(5)));
  ExpectQuarantined(WaiterOf("a", Id(5)));
  for (Micros left = kQuarantine; left > Micros(0); left -= Millis(1'000)) {
    EXPECT_FALSE(Poll("a", new_first.line).lost);
    EXPECT_FALSE(Poll("a", new_first.line, 1).lost);
    Pass(std::min<Micros>(left, Millis(1'000)));
  }
  const PollAnswer answer = Poll("a", new_first.line);
  ASSERT_TRUE(answer.offer.has_value());
  EXPECT_EQ(answer.offer->lease_id, Id(2));
}

// The first one's number is above the end of the quarantine in which it came.
TEST_P(QuarantineContract, NewcomerStandsBehindALostLineThoughTheQuarantineIsEnded) {
  Meet(1);
  const AcquireRequest holder = AcquireOf("a", Id(1));
  const Lease lease = Grant(holder);
  ForgetEverything();
  ASSERT_TRUE(Extended(ProvedExtendOf(holder, lease)).ok());
  AcquireRequest first = WaiterOf("a", Id(2));
  const core::Waiting old_first = Stand(first);
  Pass(Millis(1));
  ForgetEverything();
  ASSERT_TRUE(Extended(Now(ProvedExtendOf(holder, lease))).ok());
  Pass(Millis(2'000));  // The clock is beyond all tokens, but not beyond the number.
  ASSERT_TRUE(EndQuarantineOnceChecked(3).ended);

  AcquireRequest newcomer = WaiterOf("a", Id(3));
  newcomer.keeper = core::Keeper(2, 1);
  const core::Waiting behind = Stand(newcomer, 1);
  first = Now(first);
  const core::Waiting new_first = Stand(first, 0, old_first.number);

  EXPECT_EQ(new_first.number, old_first.number);
  EXPECT_GT(behind.number, new_first.number);
}

// Older data may show the holder as the waiter that it was.
TEST_P(QuarantineContract, HolderThatHasItsLeaseBackIsNoLongerInLine) {
  const Lease lease = Grant("a", Id(1));
  AcquireRequest waiter = WaiterOf("a", Id(1));
  const core::ExtendRequest extend = ProvedExtendOf(waiter, lease);
  ForgetEverything();
  ExpectQuarantined(WaiterOf("a", Id(4)));
  Stand(waiter, 0, NodeNow().micros);

  EXPECT_TRUE(Extended(extend).ok());

  EXPECT_EQ(Get("a").waiters, 0);
}

// Their numbers are ahead of a clock that was set back.
TEST_P(QuarantineContract, NewcomersStandBehindWaitersOfALostLineThoughTheClockWentBack) {
  Meet(1);
  Grant("a", Id(1));
  AcquireRequest waiter = WaiterOf("a", Id(2));
  const core::Waiting old_place = Stand(waiter);
  ForgetEverything();
  StepBy(-2 * kQuarantine);
  ExpectQuarantined(AcquireOf("a", Id(3)));
  Pass(kQuarantine);
  Grant("a", Id(3));

  const core::Waiting newcomer = Stand(WaiterOf("a", Id(4)), 1);
  waiter = Now(waiter);
  const core::Waiting place = Stand(waiter, 0, old_place.number);

  EXPECT_GT(newcomer.number, old_place.number);
  EXPECT_EQ(place.number, old_place.number);
  EXPECT_EQ(place.position, 1);
}

// In the quarantine the clock may still be behind tokens, and numbers, of before. They are not
// raised since it will be beyond them when the quarantine is over.
TEST_P(QuarantineContract, NewcomersOfAQuarantineStandBehindWaitersOfALostLine) {
  Meet(1);
  StepBy(-2 * kQuarantine);
  ExpectQuarantined(AcquireOf("a", Id(1)));
  const Micros ahead(std::stoll(Marker().substr(149, 16)) - NodeNow().micros);
  Pass(ahead - kQuarantine / 2);
  const AcquireRequest held = AcquireOf("a", Id(1));
  const Lease lease = Grant(held);
  AcquireRequest waiter = WaiterOf("a", Id(2));
  const core::Waiting old_place = Stand(waiter);
  ASSERT_GT(old_place.number, NodeNow().micros);
  ForgetEverything();
  ASSERT_TRUE(Extended(ProvedExtendOf(held, lease)).ok());

  const core::Waiting newcomer = Stand(WaiterOf("a", Id(3)), 1);
  waiter = Now(waiter);
  const core::Waiting place = Stand(waiter, 0, old_place.number);

  EXPECT_GT(newcomer.number, old_place.number);
  EXPECT_EQ(place.number, old_place.number);
  EXPECT_EQ(place.position, 1);
}

// A line that had gone empty gave its number again, and older data brings back who had it first.
TEST_P(QuarantineContract, WaiterWhoseNumberIsTakenStandsRightBehind) {
  Grant("a", Id(1));
  const int64_t number = Stand(WaiterOf("a", Id(2))).number;
  Pass(Millis(10));
  ASSERT_GT(Stand(WaiterOf("a", Id(5))).number, number + 2);

  EXPECT_EQ(Stand(WaiterOf("a", Id(3)), 0, number).number, number + 1);
  EXPECT_EQ(Stand(WaiterOf("a", Id(4)), 0, number + 1).number, number + 2);
}

// The lease may run: the clock that says otherwise was set.
TEST_P(QuarantineContract, ReleaseDoesNotSayExpiredByAClockThatWasSet) {
  Grant("a", Id(1));
  Grant("b", Id(2));
  const AcquireRequest repeated = AcquireOf("b", Id(2));
  StepBy(kTtl);

  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);

  EXPECT_THAT(Noticed(), ElementsAre(LossKind::kClockStep));
  Pass(kQuarantine);
  EXPECT_EQ(Release("b", Id(2)), core::NotReleasedReason::kNotHolder);
  EXPECT_THAT(ReasonOf(Ask(Now(repeated))), Optional(ErrorReason::kLeaseEnded)) << "it is void";
}

TEST_P(QuarantineContract, EndedQuarantineFreesForAllDaemonsWhatWasNotProved) {
  const AcquireRequest proved = AcquireOf("a", Id(1));
  const AcquireRequest forgotten = AcquireOf("b", Id(2));
  const Lease lease = Grant(proved);
  const Lease lost = Grant(forgotten);
  Meet(1);
  ForgetEverything();
  ASSERT_TRUE(Extended(ProvedExtendOf(proved, lease)).ok());
  EXPECT_THAT(ReasonOf(Ask(AcquireOf("b", Id(3)), 1)), Optional(ErrorReason::kStoreQuarantined));

  // Each daemon looks at the marker by itself now and then, and the first one notices the loss.
  const std::vector<LossKind> noticed = Noticed(1);

  const auto answer = EndQuarantineOnceChecked(2);

  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(answer.epoch, 2);
  EXPECT_GT(answer.left, kQuarantine - Millis(1'000));
  EXPECT_GT(Grant(AcquireOf("b", Id(3)), 1).token, lost.token);
  Grant("c", Id(4));
  EXPECT_THAT(ReasonOf(Ask(Now(ProvedExtendOf(forgotten, lost)))),
              Optional(ErrorReason::kLeaseLost));
  EXPECT_EQ(Get("a").state, core::LockState::kHeld) << "it was proved before";
  EXPECT_EQ(Noticed(1), noticed) << "the new marker is no loss";
  EXPECT_EQ(Marker().substr(19, 10), "0000000002");
}

TEST_P(QuarantineContract, QuarantineOfAnotherEpochIsNotEnded) {
  Grant("a", Id(1));
  EXPECT_FALSE(EndQuarantineOnceChecked(1).ended) << "none runs";
  EXPECT_EQ(EndQuarantineOnceChecked(1).left, Micros(0));
  ForgetEverything();
  ExpectQuarantined(AcquireOf("a", Id(2)));

  const auto answer = EndQuarantineOnceChecked(1);

  EXPECT_FALSE(answer.ended);
  EXPECT_EQ(answer.epoch, 2);
  EXPECT_GT(answer.left, kQuarantine - Millis(1'000));
  ExpectQuarantined(AcquireOf("a", Id(2)));
  EXPECT_TRUE(EndQuarantineOnceChecked(2).ended);
  EXPECT_FALSE(EndQuarantineOnceChecked(2).ended) << "it is over";
}

// A command for a quarantine that another daemon has followed by a new one.
TEST_P(QuarantineContract, DaemonThatDoesNotKnowTheNewestQuarantineEndsNone) {
  Grant("a", Id(1));
  Meet(1);
  ForgetEverything();
  ExpectQuarantined(AcquireOf("a", Id(2)));
  const std::string known = Marker();
  std::string newer = known;
  newer.replace(19, 10, "0000000003");

  Answer<core::EndQuarantineAnswer> answer;
  world_->BetweenCalls([&] {
    PutMarker(newer);
    world_->daemon(0).admin.EndQuarantine({.epoch = 2, .deadline = Deadline()}, answer.Into());
  });
  ASSERT_TRUE(Await(answer));

  EXPECT_THAT(ReasonOf(answer.value()), Optional(ErrorReason::kStoreUnavailable));

  ExpectQuarantined(AcquireOf("a", Id(2)));
  EXPECT_FALSE(EndQuarantineOnceChecked(2).ended);
}

// The clock would have come beyond them by the end of the quarantine.
TEST_P(QuarantineContract, TokensRiseThoughAQuarantineAfterAStepBackIsEnded) {
  Grant("a", Id(1));
  Meet(1);
  Pass(Millis(500));
  const Lease unseen = Grant(AcquireOf("b", Id(2)), 1);
  StepBy(-Millis(20'000));
  ForgetEverything();
  ExpectQuarantined(AcquireOf("a", Id(3)));

  ASSERT_TRUE(EndQuarantineOnceChecked(2).ended);

  EXPECT_GT(Grant("b", Id(4)).token, unseen.token);
}

// The record is there, but says nothing certain.
TEST_P(QuarantineContract, LeaseOfBeforeIsShownAsUnprovenUntilItsHolderHasProvedIt) {
  AcquireRequest delayed = AcquireOf("a", Id(1));
  delayed.lock_delay = Millis(5'000);
  const Lease lease = Grant(delayed);
  Grant("b", Id(2));
  SetTheClock();
  ASSERT_FALSE(Extended(ExtendOf("a", Id(1))).ok()) << "the step is noticed";

  const core::LockInfo before = Get("a");
  EXPECT_EQ(before.state, core::LockState::kUnproven);
  EXPECT_EQ(before.last_end, core::LeaseEnd::kNone);
  EXPECT_EQ(before.remaining_ttl, Micros(0));
  EXPECT_EQ(before.closed_for, Micros(0));
  EXPECT_EQ(before.owner, delayed.owner);
  const auto page = Ask(core::ListRequest{.page_size = 100, .deadline = Deadline()});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->locks.size(), 2U) << "somebody may have them";

  ASSERT_TRUE(Extended(ProvedExtendOf(delayed, lease)).ok());
  EXPECT_EQ(Get("a").state, core::LockState::kHeld);
  EXPECT_EQ(Get("a").remaining_ttl, kTtl);
  EXPECT_EQ(Get("b").state, core::LockState::kUnproven);
}

TEST_P(QuarantineContract, LeaseThatWasNotProvedIsShownAsExpiredAfterTheQuarantine) {
  Grant("a", Id(1));
  StepBy(-Millis(20'000));
  ASSERT_FALSE(Extended(ExtendOf("a", Id(1))).ok()) << "the step is noticed";
  Pass(kQuarantine);

  EXPECT_EQ(Get("a").state, core::LockState::kEnded);
  EXPECT_EQ(Get("a").last_end, core::LeaseEnd::kExpired);
  EXPECT_EQ(Get("a").remaining_ttl, Micros(0)) << "though its end by the clock is yet to come";
  EXPECT_EQ(Get("a").closed_for, Micros(0));
}

// An offer that its client has claimed may be a lease by now, in data that are newer than these.
TEST_P(QuarantineContract, OfferOfBeforeIsShownAsUnprovenAndThenAsEnded) {
  Grant("a", Id(1));
  const int64_t line = Stand(WaiterOf("a", Id(2))).line;
  Pass(kTtl);
  Poll("a", line);
  ASSERT_EQ(Get("a").state, core::LockState::kOffered);
  SetTheClock();
  ASSERT_FALSE(Extended(ExtendOf("b", Id(3))).ok()) << "the step is noticed";

  EXPECT_EQ(Get("a").state, core::LockState::kUnproven);
  Pass(kQuarantine);
  EXPECT_EQ(Get("a").state, core::LockState::kEnded);
  EXPECT_EQ(Get("a").last_end, core::LeaseEnd::kNone);
}

// Older data may show its place in line, or the offer, of a lease that runs.
TEST_P(QuarantineContract, ReleaseDoesNotSayThatAWaiterWasRemoved) {
  Grant(AcquireOf("b", Id(2)));
  Pass(Millis(1));
  Grant("a", Id(1));
  Stand(WaiterOf("a", Id(3)));
  const int64_t line = Stand(WaiterOf("b", Id(4))).line;
  Pass(kTtl - Millis(1));
  Poll("b", line);
  ASSERT_EQ(Get("b").state, core::LockState::kOffered);
  SetTheClock();

  EXPECT_EQ(Release("a", Id(3)), core::NotReleasedReason::kNotHolder);
  EXPECT_EQ(Release("b", Id(4)), core::NotReleasedReason::kNotHolder);
  for (const auto& [name, id] : {std::pair("a", Id(3)), std::pair("b", Id(4))}) {
    EXPECT_THAT(ReasonOf(Ask(AcquireOf(name, id))), Optional(ErrorReason::kLeaseEnded));
  }
}

TEST_P(QuarantineContract, LongerLeaseRaisesTheCeilingFirst) {
  Grant("a", Id(1));
  EXPECT_EQ(Ceiling(), kTtl);

  AcquireRequest longer = AcquireOf("b", Id(2));
  longer.ttl = Millis(40'500);
  longer.lock_delay = Millis(2'000);
  Grant(longer);
  EXPECT_EQ(Ceiling(), Millis(43'000));
  Extend(ExtendOf("a", Id(1), Millis(50'000)));
  EXPECT_EQ(Ceiling(), Millis(50'000));
  Extend(ExtendOf("b", Id(2), Millis(49'000)));
  EXPECT_EQ(Ceiling(), Millis(51'000));

  ForgetEverything();
  ExpectQuarantined(AcquireOf("a", Id(3)));
  Pass(QuarantineAfter(Millis(51'000)) - Micros(1));
  ExpectQuarantined(AcquireOf("a", Id(3)));
  Pass(Micros(1));
  Grant("a", Id(3));
}

TEST_P(QuarantineContract, ClaimOfALongerLeaseRaisesTheCeilingFirst) {
  Grant("a", Id(1));
  AcquireRequest waiter = WaiterOf("a", Id(2));
  waiter.lock_delay = Millis(9'000);
  const int64_t line = Stand(waiter).line;
  Pass(kTtl);
  ASSERT_TRUE(Poll("a", line).offer.has_value());

  Extend(ExtendOf("a", Id(2), Millis(50'000)));

  EXPECT_EQ(Ceiling(), Millis(59'000));
}

// The first try of that extend told nobody of the lease.
TEST_P(QuarantineContract, ExtendThatRaisesTheCeilingIsStillTheFirstAfterItsClaim) {
  Grant("a", Id(1));
  AcquireRequest waiter = WaiterOf("a", Id(2));
  waiter.attempt = 2;  // A store without replicas takes only retries that ask for them.
  waiter.claim = core::ClaimMode::kByClient;
  waiter.min_assurance = core::Assurance::kReplicas;
  waiter.lock_delay = Millis(1'000);
  const int64_t line = Stand(waiter).line;
  Pass(kTtl);
  ASSERT_TRUE(Poll("a", line).offer.has_value());
  ASSERT_EQ(Extend(ExtendOf("a", Id(2))).asked, core::Assurance::kReplicas);

  EXPECT_EQ(Extend(ExtendOf("a", Id(2), Millis(50'000))).asked, core::Assurance::kReplicas);

  EXPECT_EQ(Ceiling(), Millis(51'000));
  EXPECT_EQ(Extend(ExtendOf("a", Id(2))).asked, core::Assurance::kNone);
}

// Another daemon has raised the ceiling: the calls of this one are refused, and go again.
TEST_P(QuarantineContract, CallsThatTheGuardRefusedGoAgainInOrder) {
  Grant("a", Id(1));
  Release("a", Id(1));
  AcquireRequest longer = AcquireOf("b", Id(2));
  longer.ttl = Millis(50'000);
  Grant(longer, 1);

  Answer<AcquireAnswer> first, refused, second;
  Answer<core::ReleaseAnswer> released;
  world_->OnLoop([&] {
    auto& locks = world_->daemon(0).locks;
    locks.Acquire(AcquireOf("a", Id(3)), first.Into());
    locks.Acquire(AcquireOf("a", Id(4)), refused.Into());
    locks.Release(ReleaseOf("a", Id(3)), released.Into());
    locks.Acquire(AcquireOf("a", Id(5)), second.Into());
  });
  ASSERT_TRUE(Await(first) && Await(refused) && Await(released) && Await(second));

  ASSERT_TRUE(first.value().ok() && second.value().ok() && released.value().ok());
  ASSERT_TRUE(refused.value().ok());
  EXPECT_TRUE(std::holds_alternative<core::Contention>(*refused.value()));
  EXPECT_EQ(released.value()->not_released, core::NotReleasedReason::kNone);
  ASSERT_TRUE(std::holds_alternative<Lease>(*first.value()));
  ASSERT_TRUE(std::holds_alternative<Lease>(*second.value()));
  EXPECT_GT(std::get<Lease>(*second.value()).token, std::get<Lease>(*first.value()).token);
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_P(QuarantineContract, OlderMarkerIsALoss) {
  Grant("a", Id(1));
  const std::string old = Marker();
  AcquireRequest longer = AcquireOf("b", Id(2));
  longer.ttl = Millis(50'000);
  Grant(longer);

  PutMarker(old);

  ExpectQuarantined(AcquireOf("c", Id(3)));
  EXPECT_THAT(Noticed(), ElementsAre(LossKind::kOlderData));
  EXPECT_EQ(Ceiling(), Millis(50'000));
}

TEST_P(QuarantineContract, SomethingElseWhereTheMarkerWasIsALoss) {
  Grant("a", Id(1));
  const std::string marker = Marker();
  world_->BetweenCalls([&] {
    world_->Run({"DEL", "lk:store"});
    world_->Run({"HSET", "lk:store", "field", "of another type"});
  });
  ExpectQuarantined(AcquireOf("b", Id(2)));
  EXPECT_EQ(Marker().size(), marker.size());
  Pass(kQuarantine);
  Grant("b", Id(2));

  const std::string garbage = std::string(300, 'x');
  for (const std::string& text :
       {garbage, std::string("x"), marker.substr(1), "2" + marker.substr(1)}) {
    PutMarker(text);
    ExpectQuarantined(AcquireOf("c", Id(3)));
    EXPECT_EQ(Marker().size(), marker.size()) << text;
    Pass(kQuarantine);
  }
  EXPECT_EQ(Noticed(), std::vector<LossKind>(5, LossKind::kUnreadable));
}

// One that comes between the loss and its notice has given the store an id of its own.
TEST_P(QuarantineContract, DaemonsThatKnowDifferentStoresAgreeOnOne) {
  if (GetParam().name != "InProcess") {
    GTEST_SKIP() << "the first daemon may be first to look; see forget_tests "
                    "for real servers";
  }
  const AcquireRequest request = AcquireOf("a", Id(1));
  const Lease lease = Grant(request);
  const core::ExtendRequest extend = ProvedExtendOf(request, lease);
  const std::string service = Marker().substr(2, 16);
  ForgetEverything();
  Grant(AcquireOf("b", Id(2)), 1);
  ASSERT_NE(Marker().substr(2, 16), service);

  ExpectQuarantined(AcquireOf("c", Id(3)));
  EXPECT_THAT(ReasonOf(Ask(AcquireOf("c", Id(3)), 1)), Optional(ErrorReason::kStoreQuarantined));
  ExpectQuarantined(AcquireOf("c", Id(3)));

  EXPECT_EQ(Marker().substr(2, 16), service);
  EXPECT_THAT(Noticed(0), ElementsAre(LossKind::kAnotherStore));
  EXPECT_THAT(Noticed(1), ElementsAre(LossKind::kAnotherStore));
  EXPECT_TRUE(Extended(extend).ok());
  Pass(kQuarantine);
  Grant(AcquireOf("c", Id(3)), 0);
  Grant(AcquireOf("d", Id(4)), 1);
}

LOCKKEEPER_GUARDED_SUITE(QuarantineContract);

}  // namespace
}  // namespace lockkeeper::support
