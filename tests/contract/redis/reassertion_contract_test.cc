// SPDX-License-Identifier: Apache-2.0
//
// Leases that the store may have forgotten are taken back by their holders, who have to prove them.
#include "contract/redis/guarded_contract.h"
#include "core/limits.h"

namespace lockkeeper::support {
namespace {

using core::AcquireRequest;
using core::ExtendRequest;
using core::Lease;
using testing::Optional;

class ReassertionContract : public GuardedContract {
 protected:
  void ExpectLost(const ExtendRequest& request, const char* why) {
    EXPECT_THAT(ReasonOf(Ask(Now(request))), Optional(ErrorReason::kLeaseLost)) << why;
  }
};

TEST_P(ReassertionContract, LeaseThatWasForgottenIsTakenBackByItsProof) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const Lease lease = Grant(request);
  const ExtendRequest extend = ProvedExtendOf(request, lease);
  ForgetEverything();

  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kStoreQuarantined));
  EXPECT_EQ(Fence(FenceOf("a", lease.token)).verdict, core::Verdict::kUnknownToken);
  const Lease again = Extend(Now(extend));

  EXPECT_EQ(again.token, lease.token);
  EXPECT_EQ(again.remaining_ttl, kTtl);
  EXPECT_EQ(Fence(FenceOf("a", lease.token)).verdict, core::Verdict::kAdmitted);
  Pass(kTtl - Millis(1));
  Extend(ExtendOf("a", Id(1)));
  Pass(kTtl - Millis(1));
  Contend("a", Id(2));
  Pass(Millis(1));
  EXPECT_GT(Grant("a", Id(2)).token, lease.token);
}

TEST_P(ReassertionContract, LeaseThatIsStillThereNeedsTheProofToo) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const Lease lease = Grant(request);
  const ExtendRequest extend = ProvedExtendOf(request, lease);
  SetTheClock();

  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kStoreQuarantined));
  EXPECT_EQ(Fence(FenceOf("a", lease.token)).verdict, core::Verdict::kUnknownToken);
  EXPECT_EQ(Extend(Now(extend)).token, lease.token);
  EXPECT_TRUE(Extended(ExtendOf("a", Id(1))).ok());
  EXPECT_EQ(Get("a").owner, request.owner);
}

TEST_P(ReassertionContract, ProofOfSomethingElseIsNone) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.principal = "ada";
  const Lease lease = Grant(request);
  const ExtendRequest right = ProvedExtendOf(request, lease);
  ForgetEverything();

  ExtendRequest wrong = right;
  wrong.name = "b";
  ExpectLost(wrong, "another lock");
  wrong = right;
  wrong.lease_id = Id(2);
  ExpectLost(wrong, "another lease");
  wrong = right;
  wrong.principal = "bob";
  ExpectLost(wrong, "another principal");
  wrong = right;
  ++wrong.token.value;
  ExpectLost(wrong, "another token");
  for (const std::string& proof :
       {std::string("1"), std::string("."), right.reassertion.substr(1), right.reassertion + "0",
        right.reassertion.substr(0, right.reassertion.rfind('.') + 1),
        "2.60000" + right.reassertion.substr(right.reassertion.find('.', 2))}) {
    wrong = right;
    wrong.reassertion = proof;
    ExpectLost(wrong, proof.c_str());
  }
  for (size_t i = 0; i < right.reassertion.size(); ++i) {
    wrong = right;
    wrong.reassertion[i] = wrong.reassertion[i] == '1' ? '2' : '1';
    ExpectLost(wrong, "a wrong character");
  }
  EXPECT_TRUE(Extended(right).ok());
}

TEST_P(ReassertionContract, ProofOfAStoreOfBeforeIsNone) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  // Made by the daemon of another service.
  redis::Reassertions others;
  others.SetKey(std::string(32, '9'));
  extend.reassertion =
      others.Make({request.name, request.lease_id, extend.token, request.principal}, {.ttl = kTtl});
  ForgetEverything();

  ExpectLost(extend, "another key");
}

TEST_P(ReassertionContract, HigherTokenWins) {
  const AcquireRequest lower = AcquireOf("a", Id(1)), higher = AcquireOf("a", Id(2));
  const ExtendRequest of_lower = ProvedExtendOf(lower, Grant(lower));
  world_->Run({"DEL", "lk:{a}"});
  const ExtendRequest of_higher = ProvedExtendOf(higher, Grant(Now(higher)));
  ForgetEverything();

  EXPECT_TRUE(Extended(of_lower).ok());
  EXPECT_TRUE(Extended(of_higher).ok());
  ExpectLost(of_lower, "the higher one has come");
  EXPECT_TRUE(Extended(of_higher).ok());
  EXPECT_TRUE(Extended(ExtendOf("a", Id(2))).ok());
  EXPECT_EQ(Fence(FenceOf("a", of_lower.token)).verdict, core::Verdict::kStale);
}

TEST_P(ReassertionContract, ProofThatComesAfterTheQuarantineIsTooLate) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  ForgetEverything();
  EXPECT_FALSE(Ask(AcquireOf("b", Id(2))).ok());
  Pass(kQuarantine);

  ExpectLost(extend, "nobody waits for it any more");
  Grant("a", Id(3));
  ExpectLost(extend, "the lock has another holder");
}

TEST_P(ReassertionContract, NothingThatWasAskedLaterComesBetweenAnExtendAndItsProof) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const Lease lease = Grant(request);
  const ExtendRequest extend = ProvedExtendOf(request, lease);
  ForgetEverything();
  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kStoreQuarantined));

  Answer<core::ReleaseAnswer> released;
  const auto extended = AskOnLoop<Lease>([&](core::Done<Lease> done) {
    core::LockStore& locks = world_->daemon(0).locks;
    locks.Extend(Now(extend), std::move(done));
    locks.Release(Now(ReleaseOf("a", Id(1))), released.Into());
  });

  ASSERT_TRUE(Await(released));
  EXPECT_EQ(extended.value_or(Lease()).token, lease.token) << extended.status();
  EXPECT_TRUE(released.value().ok() && released.value()->released()) << released.value().status();
}

TEST_P(ReassertionContract, WhatIsKnownToHaveEndedStaysEnded) {
  const AcquireRequest released = AcquireOf("a", Id(1)), voided = AcquireOf("b", Id(2)),
                       withdrawn = AcquireOf("c", Id(3)), forced = AcquireOf("d", Id(4)),
                       succeeded = AcquireOf("e", Id(5));
  std::vector<ExtendRequest> ended;
  for (const AcquireRequest& request : {released, voided, withdrawn, forced, succeeded}) {
    ended.push_back(ProvedExtendOf(request, Grant(request)));
  }
  Release("a", Id(1));
  Release("b", Id(2));
  Grant("b", Id(6));
  Withdraw(withdrawn);
  ForceRelease("d");
  Release("e", Id(5));
  Grant("e", Id(7));
  Release("e", Id(7));
  SetTheClock();

  for (const ExtendRequest& extend : ended) ExpectLost(extend, extend.name.c_str());
}

// Older data may know of the attempt that was withdrawn, but not of the one that was granted then.
TEST_P(ReassertionContract, WithdrawnAttemptSpeaksOnlyAgainstItsOwnToken) {
  const AcquireRequest first = AcquireOf("a", Id(1));
  const ExtendRequest of_first = ProvedExtendOf(first, Grant(first));
  Withdraw(first);
  const std::string record = world_->Run({"GET", "lk:{a}"}).text;
  AcquireRequest second = Now(first);
  second.attempt = 2;
  const Lease lease = Grant(second);
  const ExtendRequest of_second = ProvedExtendOf(second, lease);

  world_->Run({"SET", "lk:{a}", record});
  SetTheClock();

  ExpectLost(of_first, "withdrawn");
  EXPECT_EQ(Extend(Now(of_second)).token, lease.token);
}

// The daemon of the first attempt withdraws it, since its client is gone. That a second attempt has
// got the lease from it is lost.
TEST_P(ReassertionContract, WithdrawnAttemptOfOlderDataDoesNotEndTheLeaseOfARetry) {
  const AcquireRequest first = AcquireOf("a", Id(1));
  Grant(first);
  const std::string record = world_->Run({"GET", "lk:{a}"}).text;
  AcquireRequest second = Now(first);
  second.attempt = 2;
  second.keeper = KeeperOf(2);
  const Lease lease = Grant(second);
  const ExtendRequest of_second = ProvedExtendOf(second, lease);

  world_->Run({"SET", "lk:{a}", record});
  SetTheClock();

  EXPECT_EQ(Withdraw(first), core::WithdrawResult::kWithdrawn);
  EXPECT_EQ(Extend(Now(of_second)).token, lease.token);
}

// Three attempts of one acquire: the first two had no answer, the third has the lease.
TEST_P(ReassertionContract, NoWithdrawnAttemptOfOlderDataEndsTheLeaseOfTheLastRetry) {
  const auto attempt_of = [&](const std::string& name, int32_t attempt) {
    AcquireRequest request = AcquireOf(name, Id(1));
    request.attempt = attempt;
    request.keeper = KeeperOf(static_cast<uint64_t>(attempt));
    return request;
  };
  std::vector<std::string> older;
  std::vector<ExtendRequest> proved;
  for (const char* name : {"a", "b"}) {
    Grant(attempt_of(name, 1));
    if (name == std::string_view("b")) Withdraw(attempt_of(name, 2));
    older.push_back(RecordOf(name));
    const AcquireRequest third = attempt_of(name, 3);
    proved.push_back(ProvedExtendOf(third, Grant(third)));
  }
  world_->Run({"SET", "lk:{a}", older[0]});
  world_->Run({"SET", "lk:{b}", older[1]});
  SetTheClock();
  EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kStoreQuarantined));

  EXPECT_EQ(Withdraw(attempt_of("a", 1)), core::WithdrawResult::kWithdrawn);
  Withdraw(attempt_of("a", 2));
  EXPECT_EQ(Withdraw(attempt_of("b", 1)), core::WithdrawResult::kWithdrawn);

  EXPECT_TRUE(Extended(proved[0]).ok()) << "the second one was withdrawn after the loss";
  EXPECT_TRUE(Extended(proved[1]).ok()) << "the second one was withdrawn before it";
}

TEST_P(ReassertionContract, ReleasedAfterItWasTakenBackItStaysReleased) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  ForgetEverything();
  EXPECT_TRUE(Extended(extend).ok());

  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNone);

  ExpectLost(extend, "released");
}

TEST_P(ReassertionContract, ReleaseOfAForgottenLeaseVoidsItsProof) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  ForgetEverything();

  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);

  ExpectLost(extend, "released although it was forgotten");
}

// With the store it is forgotten that the lease was released: the daemon knows.
TEST_P(ReassertionContract, ReleaseOfAForgottenLeaseVoidsItsProofForTheNextLossToo) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  ForgetEverything();
  ASSERT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNotHolder);
  ForgetEverything();

  ExpectLost(extend, "the daemon knows, though the store has forgotten that too");
}

TEST_P(ReassertionContract, ReleaseByAnotherPrincipalVoidsNoProof) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.principal = "ada";
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  core::ReleaseRequest release = ReleaseOf("a", Id(1));
  release.principal = "bob";
  const auto answer = Ask(release);
  ASSERT_TRUE(answer.ok() && answer->not_released == core::NotReleasedReason::kNotHolder);
  ForgetEverything();

  EXPECT_TRUE(Extended(extend).ok());
}

TEST_P(ReassertionContract, NoCopyOfItsAcquireBecomesItsKeeper) {
  AcquireRequest granted = AcquireOf("a", Id(1));
  granted.attempt = 2;
  const Lease lease = Grant(granted);
  const ExtendRequest extend = ProvedExtendOf(granted, lease);
  ForgetEverything();
  EXPECT_TRUE(Extended(extend).ok());

  for (const int32_t attempt : {1, 2, 3, core::limits::kAttemptMax}) {
    AcquireRequest copy = Now(granted);
    copy.attempt = attempt;
    copy.keeper = KeeperOf(10 + static_cast<uint64_t>(attempt));
    EXPECT_EQ(Grant(copy).token, lease.token) << attempt;
    EXPECT_EQ(Withdraw(copy), core::WithdrawResult::kKept) << attempt;
    EXPECT_TRUE(Extended(extend).ok()) << attempt << ": the proof may be shown again";
  }
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNone);
}

TEST_P(ReassertionContract, SessionThatAdoptsWithAProofIsItsKeeper) {
  const AcquireRequest granted = AcquireOf("a", Id(1));
  ExtendRequest adoption = ProvedExtendOf(granted, Grant(granted));
  adoption.keeper = core::Keeper::OfHolder(7);
  ForgetEverything();
  EXPECT_TRUE(Extended(adoption).ok());

  EXPECT_EQ(ReleaseKept(Now(granted), granted.keeper), core::WithdrawResult::kKept);
  EXPECT_EQ(ReleaseKept(Now(granted), *adoption.keeper), core::WithdrawResult::kWithdrawn);
}

// The record does not know who had adopted it.
TEST_P(ReassertionContract, LeaseThatWasOnlyProvedIsReleasedByTheEndOfNoSession) {
  const AcquireRequest granted = AcquireOf("a", Id(1));
  const ExtendRequest extend = ProvedExtendOf(granted, Grant(granted));
  ForgetEverything();
  EXPECT_TRUE(Extended(extend).ok());

  EXPECT_EQ(ReleaseKept(Now(granted), granted.keeper), core::WithdrawResult::kKept);
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNone) << "by its lease id";
}

TEST_P(ReassertionContract, LeaseThatIsYetToBeProvedIsReleasedByTheEndOfNoSession) {
  const AcquireRequest granted = AcquireOf("a", Id(1));
  const ExtendRequest extend = ProvedExtendOf(granted, Grant(granted));
  const std::string record = RecordOf("a");
  ForgetEverything();
  PutRecord("a", record);

  EXPECT_EQ(ReleaseKept(Now(granted), granted.keeper), core::WithdrawResult::kKept);
  EXPECT_TRUE(Extended(extend).ok());
}

TEST_P(ReassertionContract, ProofIsGoodUntilTheEndThatItCameWith) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const ExtendRequest of_grant = ProvedExtendOf(request, Grant(request));
  Pass(Millis(20'000));
  const ExtendRequest of_extend = ProvedExtendOf(request, Extend(ExtendOf("a", Id(1))));
  ForgetEverything();
  EXPECT_FALSE(Ask(AcquireOf("b", Id(2))).ok()) << "the loss is noticed";

  Pass(Millis(10'000));
  ExpectLost(of_grant, "the lease would have ended without the extend");
  Pass(Millis(20'000) - Micros(1));
  const ExtendRequest of_reassert = ProvedExtendOf(request, Extend(Now(of_extend)));
  ForgetEverything();
  Pass(Micros(1));
  ExpectLost(of_extend, "it has ended by now");
  EXPECT_TRUE(Extended(of_reassert).ok()) << "the answer brought a proof of its own";
}

TEST_P(ReassertionContract, LeaseThatHadEndedStaysEndedWhereNobodyRemembersIt) {
  const AcquireRequest expired = AcquireOf("a", Id(1)), released = AcquireOf("b", Id(2)),
                       forced = AcquireOf("c", Id(3));
  std::vector<ExtendRequest> ended = {ProvedExtendOf(expired, Grant(expired))};
  Pass(kTtl);
  for (const AcquireRequest& request : {released, forced}) {
    ended.push_back(ProvedExtendOf(request, Grant(Now(request))));
  }
  Release("b", Id(2));
  ForceRelease("c");
  for (const ExtendRequest& extend : ended) {
    Grant(extend.name == "c" ? "d" : extend.name, Id(4));
    Release(extend.name, Id(4));
  }
  ForgetEverything();

  for (const ExtendRequest& extend : ended) {
    ExpectLost(extend, extend.name.c_str());
    EXPECT_EQ(Fence(FenceOf(extend.name, extend.token)).verdict, core::Verdict::kUnknownToken);
  }
}

TEST_P(ReassertionContract, EndedLeasesAreRememberedAsLongAsTheirProofsAreGood) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  Release("a", Id(1));
  Pass(kTtl - Millis(1'000));
  Grant("b", Id(2));
  Release("b", Id(2));
  ForgetEverything();
  ExpectLost(extend, "released almost a ttl ago");
}

// The steps are larger than what is left of the lease.
TEST_P(ReassertionContract, ProofIsGoodForAsLongWhateverTheClockIsSetTo) {
  for (const Micros step : {Micros(std::chrono::hours(1)), Micros(-std::chrono::hours(1)),
                            Micros(std::chrono::seconds(31)), Micros(-std::chrono::seconds(31))}) {
    const uint64_t number =
        static_cast<uint64_t>(std::chrono::abs(step).count()) * 8 + (step < Micros(0) ? 4 : 0);
    AcquireRequest request = AcquireOf("a", Id(number));
    request.max_hold = Millis(600'000);
    const AcquireRequest other = AcquireOf("b", Id(number + 1));
    const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
    const ExtendRequest late = ProvedExtendOf(other, Grant(other));
    StepBy(step);
    Pass(kTtl - Millis(100));

    EXPECT_EQ(Extend(Now(extend)).remaining_ttl, kTtl) << step.count();
    Pass(Millis(200));
    ExpectLost(late, "it has ended by now");
    Release("a", request.lease_id);
    Pass(kQuarantine);
    Grant("b", Id(number + 3));
    Release("b", Id(number + 3));
  }
}

TEST_P(ReassertionContract, ClaimIsAnsweredWithAProofOfItsOwn) {
  Grant("a", Id(1));
  AcquireRequest waiter = AcquireOf("a", Id(2));
  waiter.wait_timeout = Millis(60'000);
  waiter.keeper = core::Keeper(1, 1);  // Of the first daemon.
  waiter.lock_delay = Millis(1'000);
  waiter.max_hold = Millis(5'000);
  const auto waiting = Ask(waiter);
  ASSERT_TRUE(waiting.ok() && std::holds_alternative<core::Waiting>(*waiting));
  Pass(kTtl);
  ASSERT_TRUE(Poll("a", std::get<core::Waiting>(*waiting).line).offer.has_value());
  Pass(Millis(500));
  const Lease lease = Extend(ExtendOf("a", Id(2)));
  const ExtendRequest extend = ProvedExtendOf(waiter, lease);
  ForgetEverything();

  const Lease again = Extend(Now(extend));
  EXPECT_EQ(again.token, lease.token);
  EXPECT_EQ(again.remaining_ttl, Millis(5'000)) << "max_hold counts from the claim";
  EXPECT_EQ(RecordOf("a").substr(202, 8), "00001000") << "the lock_delay is proved too";
}

TEST_P(ReassertionContract, RepeatIsAnsweredWithAProofOfTheFirstGrant) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(1'000);
  request.max_hold = Millis(40'000);
  Grant(request);
  AcquireRequest repeat = request;
  repeat.lock_delay = Millis(5'000);
  repeat.max_hold = Millis(0);
  const ExtendRequest extend = ProvedExtendOf(repeat, Grant(repeat));
  Pass(Millis(20'000));
  ForgetEverything();

  EXPECT_EQ(Extend(Now(extend)).remaining_ttl, Millis(20'000)) << "max_hold counts from the grant";
  EXPECT_EQ(RecordOf("a").substr(202, 8), "00001000");
}

TEST_P(ReassertionContract, LockDelayIsKept) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(5'000);
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  ForgetEverything();
  EXPECT_FALSE(Ask(AcquireOf("b", Id(2))).ok());
  Pass(Millis(10'000));
  EXPECT_EQ(Extend(Now(extend)).remaining_ttl, kTtl);

  Pass(kTtl + Millis(5'000) - Micros(1));
  Contend("a", Id(2));
  Pass(Micros(1));
  Grant("a", Id(2));
}

TEST_P(ReassertionContract, HoldAtLeastIsKept) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.hold_at_least = Millis(120'000);
  request.labels = {{"key", "value"}};
  Grant(request);
  Pass(Millis(10'000));
  const ExtendRequest extend = ProvedExtendOf(request, Extend(ExtendOf("a", Id(1))));
  ForgetEverything();
  EXPECT_FALSE(Ask(AcquireOf("b", Id(2))).ok());
  Pass(Millis(10'000) + Micros(1));
  EXPECT_EQ(Extend(Now(extend)).remaining_ttl, kTtl);

  EXPECT_EQ(Get("a").closed_for, Millis(100'000) - Micros(1));
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNone);
  EXPECT_EQ(Contend("a", Id(3)).remaining_ttl, Millis(100'000) - Micros(1));
  Pass(Millis(100'000) - Micros(2));
  EXPECT_EQ(Contend("a", Id(4)).reason, core::ContentionReason::kClosed);
  Pass(Micros(1));
  Grant("a", Id(5));
}

TEST_P(ReassertionContract, LeaseThatIsStillThereKeepsItsTextAndItsHoldAtLeast) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.hold_at_least = Millis(120'000);
  request.labels = {{"key", "value"}};
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  const Micros left = Get("a").closed_for;
  SetTheClock();

  Extend(Now(extend));

  EXPECT_EQ(Get("a").owner, request.owner);
  EXPECT_EQ(Get("a").labels, request.labels);
  EXPECT_LE(Get("a").closed_for, left + Millis(50)) << "as exactly as a step of the clock is known";
  EXPECT_GT(Get("a").closed_for, left - Millis(30'000));
}

TEST_P(ReassertionContract, HoldAtLeastThatIsOverIsNotBroughtBack) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.hold_at_least = Millis(5'000);
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  ForgetEverything();
  Pass(Millis(10'000));

  Extend(Now(extend));

  EXPECT_EQ(RecordOf("a").at(0), '1');
  EXPECT_EQ(Get("a").hold_at_least, Millis(0));
}

// A loss opens a lock early that nobody holds any more: its holder has no lease to prove.
TEST_P(ReassertionContract, LossOpensAReleasedLockWhenTheQuarantineIsOver) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.hold_at_least = Millis(3'600'000);
  const ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  Release("a", Id(1));
  SetTheClock();

  ExpectLost(extend, "released");
  EXPECT_EQ(Get("a").state, core::LockState::kEnded);
  EXPECT_EQ(Get("a").last_end, core::LeaseEnd::kReleased);
  EXPECT_EQ(Get("a").closed_for, Millis(0));
  Pass(kQuarantine);
  Grant("a", Id(2));
}

TEST_P(ReassertionContract, MaxHoldIsKept) {
  AcquireRequest request = AcquireOf("a", Id(1));
  request.max_hold = Millis(50'000);
  Grant(request);
  Pass(Millis(25'000));
  const ExtendRequest extend = ProvedExtendOf(request, Extend(ExtendOf("a", Id(1))));
  Pass(Millis(10'000));
  ForgetEverything();

  EXPECT_LE(Extend(Now(extend)).remaining_ttl, Millis(15'100));
  Pass(Millis(15'100));
  ExpectLost(ExtendOf("a", Id(1)), "held for as long as it may");
  ExpectLost(extend, "held for as long as it may");
}

TEST_P(ReassertionContract, LongerTtlThanGrantedRaisesTheCeiling) {
  const AcquireRequest request = AcquireOf("a", Id(1));
  ExtendRequest extend = ProvedExtendOf(request, Grant(request));
  extend.ttl = Millis(45'000);
  ForgetEverything();

  EXPECT_EQ(Extend(Now(extend)).remaining_ttl, Millis(45'000));

  EXPECT_EQ(Ceiling(), Millis(45'000));
}

LOCKKEEPER_GUARDED_SUITE(ReassertionContract);

// A store that is empty, and then has its data from before that again. Another attempt of the same
// acquire got the lock in between.
class OlderLeaseContract : public ReassertionContract {
 protected:
  // Ends the lease of the first attempt, and answers with the proof of the second's.
  template <typename End>
  ExtendRequest SecondAfter(End end) {
    Meet(1);
    const AcquireRequest first = AcquireOf("a", Id(1));
    of_first_ = ProvedExtendOf(first, Grant(first));
    end();
    const std::string record = RecordOf("a");
    ForgetEverything();
    EXPECT_FALSE(Ask(AcquireOf("b", Id(2))).ok()) << "the loss is noticed";
    Pass(kQuarantine);
    AcquireRequest second = Now(first);
    second.attempt = 2;
    second.keeper = KeeperOf(2);
    const ExtendRequest of_second = ProvedExtendOf(second, Grant(second));
    PutRecord("a", record);
    SetTheClock();
    EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(ErrorReason::kStoreQuarantined));
    return of_second;
  }
  void Expire() {
    Pass(kTtl);
    Grant("a", Id(3));
  }
  void ForceElsewhere() {
    const auto forced = AskOnLoop<core::ForceReleaseAnswer>([&](auto done) {
      core::ForceReleaseRequest request{.name = "a", .delay = core::ReleaseDelay::kNone};
      world_->daemon(1).admin.ForceRelease(Now(request), std::move(done));
    });
    EXPECT_TRUE(forced.ok() && forced->token.value > 0) << forced.status();
  }
  // In a quarantine nobody knows whether it was in time.
  void ReleaseElsewhere() {
    for (const char* const which : {"first", "again"}) {
      const auto released = AskOnLoop<core::ReleaseAnswer>([&](auto done) {
        world_->daemon(1).locks.Release(Now(ReleaseOf("a", Id(1))), std::move(done));
      });
      EXPECT_TRUE(released.ok() && released->not_released == core::NotReleasedReason::kNotHolder)
          << which << ": " << released.status();
    }
  }

  ExtendRequest of_first_;
};

TEST_P(OlderLeaseContract, ThatExpiredSaysNothingOfALaterAttempt) {
  const ExtendRequest extend = SecondAfter([&] { Expire(); });

  ExpectLost(of_first_, "expired");
  EXPECT_EQ(Extend(Now(extend)).token, extend.token);
  EXPECT_TRUE(Extended(extend).ok()) << "shown again";
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNone);
  ExpectLost(extend, "released");
}

TEST_P(OlderLeaseContract, ThatExpiredSaysNothingAfterTheNextLossEither) {
  const ExtendRequest extend = SecondAfter([&] { Expire(); });
  EXPECT_EQ(Extend(Now(extend)).token, extend.token);
  SetTheClock();

  EXPECT_EQ(Extend(Now(extend)).token, extend.token);
}

// Another daemon ends it: the one that is asked later remembers nothing of that.
TEST_P(OlderLeaseContract, ThatWasForcedSaysNothingOfALaterAttempt) {
  const ExtendRequest extend = SecondAfter([&] { ForceElsewhere(); });

  EXPECT_EQ(Extend(Now(extend)).token, extend.token);
}

TEST_P(OlderLeaseContract, ThatWasForcedBeforeAnotherSaysNothingOfALaterAttempt) {
  const ExtendRequest extend = SecondAfter([&] {
    ForceElsewhere();
    Grant("a", Id(3));
  });

  EXPECT_EQ(Extend(Now(extend)).token, extend.token);
}

TEST_P(OlderLeaseContract, ReleaseVoidsTheProofOfALaterAttemptThanExpired) {
  const ExtendRequest extend = SecondAfter([&] { Expire(); });

  ReleaseElsewhere();
  ExpectLost(extend, "released");
}

TEST_P(OlderLeaseContract, ReleaseVoidsTheProofOfALaterAttemptThanWasForced) {
  const ExtendRequest extend = SecondAfter([&] { ForceElsewhere(); });

  ReleaseElsewhere();
  ExpectLost(extend, "released");
}

LOCKKEEPER_GUARDED_SUITE(OlderLeaseContract);

}  // namespace
}  // namespace lockkeeper::support
