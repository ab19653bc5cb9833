// SPDX-License-Identifier: Apache-2.0
#include "acquire/acquire_flow.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "lockkeeper/error.h"
#include "status_payloads.h"
#include "support/client/manual_time.h"
#include "support/client/scripted_lease_calls.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;

// A daemon that does as the test says; time moves only by what calls and pauses take.
class ScriptedCalls final : public AcquireCalls {
 public:
  struct Try {
    int attempt;
    Duration wait_timeout;
    Duration timeout;
  };
  struct Reply {
    absl::StatusOr<AcquireAnswer> answer;
    Duration takes{0};
  };

  explicit ScriptedCalls(ManualTime& time) : time_(time) {}

  absl::StatusOr<AcquireAnswer> Acquire(int attempt, Duration wait_timeout,
                                        Duration timeout) override {
    tries.push_back({attempt, wait_timeout, timeout});
    if (replies.empty()) {  // A daemon that hangs.
      time_.Advance(timeout);
      return absl::DeadlineExceededError("no answer");
    }
    const Reply reply = replies.front();
    replies.pop_front();
    time_.Advance(reply.takes);
    return reply.answer;
  }

  absl::StatusOr<Granted> Claim(Duration timeout) override {
    claim_timeouts.push_back(timeout);
    absl::StatusOr<Granted> claim = claims.front();
    claims.pop_front();
    return claim;
  }

  void TryElsewhere(const absl::Status& /*why*/) override { ++moves; }

  bool TakeNewLeaseId() override {
    if (is_our_id) ++new_ids;
    return is_our_id;
  }

  bool Pause(Duration delay) override {
    pauses.push_back(delay);
    time_.Advance(delay);
    return !cancelled;
  }

  std::deque<Reply> replies;
  std::deque<absl::StatusOr<Granted>> claims;
  bool cancelled = false;
  bool is_our_id = true;
  int new_ids = 0;
  std::vector<Try> tries;
  std::vector<Duration> claim_timeouts;
  std::vector<Duration> pauses;
  int moves = 0;

 private:
  ManualTime& time_;
};

AcquireAnswer GrantedAnswer(int64_t token = 7) {
  Granted granted;
  granted.grant.fencing_token = token;
  granted.remaining_ttl = 30s;
  return granted;
}

absl::Status Unavailable(ErrorReason reason) {
  return ErrorWithReason(absl::StatusCode::kUnavailable, reason, "scripted");
}

// The store may have forgotten leases, and grants nothing for another `left`.
absl::Status Quarantined(std::chrono::milliseconds left) {
  absl::Status status = Unavailable(ErrorReason::kStoreQuarantined);
  SetRetryDelay(status, left);
  return status;
}

class AcquireFlowTest : public testing::Test {
 protected:
  AcquireEnd Run(AcquireLimits limits = {.call_timeout = 10s}) {
    return RunAcquire(calls_, limits, time_, jitter_);
  }

  ManualTime time_;
  const Instant begin_ = time_.Now();
  FixedJitter jitter_;
  ScriptedCalls calls_{time_};
};

absl::Status LeaseEnded() {
  return ErrorWithReason(absl::StatusCode::kFailedPrecondition, ErrorReason::kLeaseEnded,
                         "scripted");
}

// A lock that changes hands often does not know what became of the try before.
TEST_F(AcquireFlowTest, RetryWhoseLeaseIdIsUsedUpGoesOnWithANewOne) {
  calls_.replies.push_back({Unavailable(ErrorReason::kOutcomeUnknown), 1s});
  calls_.replies.push_back({LeaseEnded(), 1s});
  calls_.replies.push_back({GrantedAnswer(), 1s});

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s});

  ASSERT_TRUE(end.answer.ok()) << end.answer.status();
  EXPECT_FALSE(end.unresolved) << "nothing is granted to the old lease id any more";
  EXPECT_EQ(calls_.new_ids, 1);
  ASSERT_EQ(calls_.tries.size(), 3u);
  EXPECT_EQ(calls_.tries[1].attempt, 2);
  EXPECT_EQ(calls_.tries[2].attempt, 1);
  EXPECT_LT(calls_.tries[2].wait_timeout, calls_.tries[1].wait_timeout) << "one wait for all";
}

// Its code says that the last try may have been granted; the cause is for people only.
TEST_F(AcquireFlowTest, TryWithoutAnAnswerTellsWhatTheTriesBeforeWereAnswered) {
  calls_.replies.push_back({Unavailable(ErrorReason::kStoreUnavailable), 1s});
  calls_.replies.push_back({Unavailable(ErrorReason::kOutcomeUnknown), 1s});

  const AcquireEnd end = Run();

  EXPECT_TRUE(end.unresolved);
  EXPECT_EQ(end.answer.status(),
            absl::DeadlineExceededError("no answer; before that: scripted (STORE_UNAVAILABLE)"));
}

TEST_F(AcquireFlowTest, FirstTryWhoseLeaseIdIsUsedUpIsNotRepeated) {
  calls_.replies.push_back({LeaseEnded()});

  EXPECT_EQ(ReasonOf(Run().answer.status()), ErrorReason::kLeaseEnded);
  EXPECT_EQ(calls_.new_ids, 0);
}

TEST_F(AcquireFlowTest, LeaseIdOfTheCallerIsNotReplaced) {
  calls_.is_our_id = false;
  calls_.replies.push_back({Unavailable(ErrorReason::kOutcomeUnknown)});
  calls_.replies.push_back({LeaseEnded()});

  EXPECT_EQ(ReasonOf(Run().answer.status()), ErrorReason::kLeaseEnded);
  EXPECT_EQ(calls_.tries.size(), 2u);
}

TEST_F(AcquireFlowTest, GrantIsCountedFromTheTimeItsRequestWasSent) {
  calls_.replies.push_back({GrantedAnswer(), 4s});

  const AcquireEnd end = Run();

  ASSERT_TRUE(end.answer.ok());
  EXPECT_EQ(end.sent, begin_);
  EXPECT_FALSE(end.unresolved);
  ASSERT_EQ(calls_.tries.size(), 1u);
  EXPECT_EQ(calls_.tries[0].attempt, 1);
}

TEST_F(AcquireFlowTest, UnavailableIsRepeatedWithTheNextAttemptAndCountedFromTheLastSend) {
  calls_.replies.push_back({Unavailable(ErrorReason::kOutcomeUnknown), 1s});
  calls_.replies.push_back({Unavailable(ErrorReason::kStoreUnavailable), 1s});
  calls_.replies.push_back({GrantedAnswer(), 1s});

  const AcquireEnd end = Run();

  ASSERT_TRUE(end.answer.ok());
  ASSERT_EQ(calls_.tries.size(), 3u);
  EXPECT_EQ(calls_.tries[1].attempt, 2);
  EXPECT_EQ(calls_.tries[2].attempt, 3);
  EXPECT_EQ(calls_.moves, 2);
  EXPECT_EQ(calls_.pauses, (std::vector<Duration>{37'500us, 75'000us}));
  EXPECT_EQ(end.sent, begin_ + 2s + 112'500us);
}

TEST_F(AcquireFlowTest, QuarantineIsWaitedForByOneThatWaits) {
  calls_.replies.push_back({Quarantined(30s), 1s});
  calls_.replies.push_back({GrantedAnswer()});

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s});

  ASSERT_TRUE(end.answer.ok());
  ASSERT_EQ(calls_.tries.size(), 2u);
  EXPECT_EQ(calls_.tries[1].attempt, 2);
  EXPECT_EQ(calls_.tries[1].wait_timeout, 29s) << "what remains of the wait";
  EXPECT_EQ(calls_.pauses, (std::vector<Duration>{30s}));
}

TEST_F(AcquireFlowTest, QuarantineThatOutlastsTheCallIsTheAnswerAtOnce) {
  calls_.replies.push_back({Quarantined(30s), 1s});

  const AcquireEnd end = Run();

  EXPECT_EQ(ReasonOf(end.answer.status()), ErrorReason::kStoreQuarantined);
  EXPECT_EQ(RetryDelayOf(end.answer.status()), 30s);
  EXPECT_FALSE(end.unresolved);
  EXPECT_EQ(calls_.tries.size(), 1u);
  EXPECT_TRUE(calls_.pauses.empty());
}

TEST_F(AcquireFlowTest, TryWithoutAnswerIsGivenUpSoonAndRepeated) {
  calls_.replies.push_back({absl::DeadlineExceededError("no answer"), 3s});
  calls_.replies.push_back({GrantedAnswer()});

  const AcquireEnd end = Run();

  ASSERT_TRUE(end.answer.ok());
  EXPECT_EQ(calls_.tries[0].timeout, 3s);
  EXPECT_TRUE(end.unresolved);
}

TEST_F(AcquireFlowTest, HangingDaemonsEndWithTheCallersDeadline) {
  const AcquireEnd end = Run({.call_timeout = 10s});

  EXPECT_TRUE(absl::IsDeadlineExceeded(end.answer.status()));
  EXPECT_TRUE(end.unresolved);
  EXPECT_EQ(calls_.tries.size(), 4u);
  EXPECT_LE(time_.Now() - begin_, 10s);
}

TEST_F(AcquireFlowTest, OtherErrorsAreNotRepeated) {
  for (const absl::Status& error :
       {absl::InvalidArgumentError("x"), absl::PermissionDeniedError("x"),
        absl::UnauthenticatedError("x"), absl::ResourceExhaustedError("x"),
        absl::FailedPreconditionError("x"), absl::InternalError("x"), absl::DataLossError("x")}) {
    calls_.tries.clear();
    calls_.replies.push_back({error});

    const AcquireEnd end = Run();

    EXPECT_EQ(end.answer.status(), error);
    EXPECT_EQ(calls_.tries.size(), 1u) << error;
  }
}

TEST_F(AcquireFlowTest, OnlyAnswersThatSayThatNothingIsLeftAreResolved) {
  struct Case {
    absl::Status error;
    bool unresolved;
  };
  const auto with = [](absl::StatusCode code, ErrorReason reason) {
    return ErrorWithReason(code, reason, "scripted");
  };
  using absl::StatusCode;
  for (const Case& each : {
           Case{with(StatusCode::kInvalidArgument, ErrorReason::kInvalidField), false},
           Case{with(StatusCode::kFailedPrecondition, ErrorReason::kLeaseEnded), false},
           Case{with(StatusCode::kResourceExhausted, ErrorReason::kWaiterLimit), false},
           Case{with(StatusCode::kDataLoss, ErrorReason::kStoreCorrupt), true},
           Case{with(StatusCode::kInternal, ErrorReason::kInvariantViolated), true},
           Case{absl::InternalError("without a reason"), true},
           Case{absl::CancelledError("by the caller"), true},
       }) {
    calls_.replies.push_back({each.error});
    EXPECT_EQ(Run().unresolved, each.unresolved) << each.error;
  }
}

TEST_F(AcquireFlowTest, ContentionAfterAnUnansweredTryStaysUnresolved) {
  calls_.replies.push_back({absl::UnavailableError("connection lost")});
  calls_.replies.push_back({AcquireAnswer(Contention{.holder_owner = "other"})});

  const AcquireEnd end = Run();

  EXPECT_EQ(std::get<Contention>(*end.answer).holder_owner, "other");
  EXPECT_TRUE(end.unresolved) << "the first try may still be granted";
}

TEST_F(AcquireFlowTest, EachAddressIsTriedOnceBeforeThereIsADelay) {
  for (int i = 0; i < 3; ++i) calls_.replies.push_back({absl::UnavailableError("refused")});
  calls_.replies.push_back({GrantedAnswer()});

  ASSERT_TRUE(Run({.call_timeout = 10s, .addresses = 3}).answer.ok());

  EXPECT_EQ(calls_.pauses, (std::vector<Duration>{0s, 0s, 37'500us}));
}

TEST_F(AcquireFlowTest, DelayThatTheServerNamesIsKeptTo) {
  absl::Status quarantined = Unavailable(ErrorReason::kStoreQuarantined);
  SetRetryDelay(quarantined, 4s);
  calls_.replies.push_back({quarantined});
  calls_.replies.push_back({GrantedAnswer()});

  EXPECT_TRUE(Run({.call_timeout = 10s, .addresses = 2}).answer.ok());

  EXPECT_EQ(calls_.pauses, (std::vector<Duration>{4s}));
}

TEST_F(AcquireFlowTest, LockThatHasTooManyAcquiresIsAskedAgain) {
  absl::Status too_many =
      ErrorWithReason(absl::StatusCode::kResourceExhausted, ErrorReason::kRateLimit, "scripted");
  SetRetryDelay(too_many, 100ms);
  calls_.replies.push_back({too_many});
  calls_.replies.push_back({GrantedAnswer()});

  const AcquireEnd end = Run();

  EXPECT_TRUE(end.answer.ok());
  EXPECT_FALSE(end.unresolved);
  EXPECT_EQ(calls_.pauses, (std::vector<Duration>{100ms}));
}

TEST_F(AcquireFlowTest, DelayBeyondTheDeadlineEndsTheCallAtOnce) {
  absl::Status quarantined = Unavailable(ErrorReason::kStoreQuarantined);
  SetRetryDelay(quarantined, 30s);
  calls_.replies.push_back({quarantined});

  const AcquireEnd end = Run({.call_timeout = 10s});

  EXPECT_EQ(ReasonOf(end.answer.status()), ErrorReason::kStoreQuarantined);
  EXPECT_EQ(time_.Now(), begin_);
  EXPECT_FALSE(end.unresolved);
}

TEST_F(AcquireFlowTest, LeaseOfWhichTooLittleWasConfirmedLeavesNothing) {
  absl::Status refused = Unavailable(ErrorReason::kAssuranceNotReached);
  SetRetryDelay(refused, 30s);
  calls_.replies.push_back({refused});

  const AcquireEnd end = Run({.call_timeout = 10s});

  EXPECT_EQ(ReasonOf(end.answer.status()), ErrorReason::kAssuranceNotReached);
  EXPECT_FALSE(end.unresolved) << "there is nothing to clean up";
}

TEST_F(AcquireFlowTest, RepeatWaitsForWhatIsLeftOfTheWait) {
  calls_.replies.push_back({Unavailable(ErrorReason::kServerDraining), 20s});
  calls_.replies.push_back({GrantedAnswer()});

  ASSERT_TRUE(Run({.wait_timeout = 60s, .call_timeout = 10s, .addresses = 2}).answer.ok());

  EXPECT_EQ(calls_.tries[0].wait_timeout, 60s);
  EXPECT_EQ(calls_.tries[0].timeout, 63s);
  EXPECT_EQ(calls_.tries[1].wait_timeout, 40s);
  EXPECT_EQ(calls_.tries[1].timeout, 43s);
}

TEST_F(AcquireFlowTest, WaitThatIsOverAtTheRepeatHasTimedOut) {
  calls_.replies.push_back({Unavailable(ErrorReason::kServerDraining), 60s});
  calls_.replies.push_back({AcquireAnswer(Contention{.reason = ContentionReason::kHeld})});

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s, .addresses = 2});

  EXPECT_EQ(calls_.tries[1].wait_timeout, 0s);
  ASSERT_TRUE(end.answer.ok());
  EXPECT_EQ(std::get<Contention>(*end.answer).reason, ContentionReason::kWaitTimedOut);
}

TEST_F(AcquireFlowTest, ContentionWithoutAWaitIsHeld) {
  calls_.replies.push_back({AcquireAnswer(Contention{.reason = ContentionReason::kHeld})});

  const AcquireEnd end = Run();

  EXPECT_EQ(std::get<Contention>(*end.answer).reason, ContentionReason::kHeld);
}

TEST_F(AcquireFlowTest, WaitedIsTheTimeOfAllTries) {
  calls_.replies.push_back({Unavailable(ErrorReason::kServerDraining), 20s});
  Granted granted = std::get<Granted>(GrantedAnswer());
  granted.grant.waited = 5s;
  calls_.replies.push_back({AcquireAnswer(granted), 5s});

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s, .addresses = 2});

  EXPECT_EQ(std::get<Granted>(*end.answer).grant.waited, 25s);
}

TEST_F(AcquireFlowTest, FailuresBeforeALongWaitDoNotDelayItsRepeat) {
  calls_.replies.push_back({absl::UnavailableError("refused")});
  calls_.replies.push_back({Unavailable(ErrorReason::kServerDraining), 20s});
  calls_.replies.push_back({GrantedAnswer()});

  ASSERT_TRUE(Run({.wait_timeout = 60s, .call_timeout = 10s, .addresses = 2}).answer.ok());

  EXPECT_EQ(calls_.pauses, (std::vector<Duration>{0s, 0s}));
}

TEST_F(AcquireFlowTest, DrainingMayLeaveAWaiterInItsPlace) {
  calls_.replies.push_back({Unavailable(ErrorReason::kServerDraining)});
  calls_.cancelled = true;

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s});

  EXPECT_TRUE(absl::IsCancelled(end.answer.status()));
  EXPECT_TRUE(end.unresolved);
  EXPECT_EQ(calls_.tries.size(), 1u);
}

class AcquireFlowOfferTest : public AcquireFlowTest {
 protected:
  static AcquireAnswer Offer() {
    Granted offer = std::get<Granted>(GrantedAnswer(9));
    offer.offered = true;
    offer.remaining_ttl = 900ms;
    offer.grant.waited = 5s;
    offer.grant.previous_lease_expired = true;
    return offer;
  }
};

TEST_F(AcquireFlowOfferTest, OfferIsClaimedAndTheLeaseCountedFromTheClaim) {
  calls_.replies.push_back({Offer(), 20s});
  Granted claimed = std::get<Granted>(GrantedAnswer(9));
  claimed.grant.reassertion = "proof";
  calls_.claims.emplace_back(claimed);

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s});

  const Granted& granted = std::get<Granted>(*end.answer);
  EXPECT_EQ(end.sent, begin_ + 20s);
  EXPECT_EQ(granted.remaining_ttl, 30s);
  EXPECT_EQ(granted.grant.waited, 5s);
  EXPECT_TRUE(granted.grant.previous_lease_expired);
  EXPECT_EQ(granted.grant.reassertion, "proof") << "an offer has none";
  EXPECT_EQ(calls_.claim_timeouts, (std::vector<Duration>{900ms}));
}

TEST_F(AcquireFlowOfferTest, LapsedOfferIsAskedForAgainAtTheSameDaemon) {
  calls_.replies.push_back({Offer(), 5s});
  calls_.claims.emplace_back(
      ErrorWithReason(absl::StatusCode::kFailedPrecondition, ErrorReason::kLeaseLost, "lapsed"));
  calls_.replies.push_back({GrantedAnswer()});

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s, .addresses = 2});

  ASSERT_TRUE(end.answer.ok());
  ASSERT_EQ(calls_.tries.size(), 2u);
  EXPECT_EQ(calls_.tries[1].attempt, 2);
  EXPECT_EQ(calls_.tries[1].wait_timeout, 55s) << "what remains of the wait";
  EXPECT_EQ(calls_.moves, 0) << "the daemon is not to blame";
}

TEST_F(AcquireFlowOfferTest, OfferWhoseClaimFindsNoServiceIsAskedForElsewhere) {
  calls_.replies.push_back({Offer()});
  calls_.claims.emplace_back(absl::UnavailableError("connection lost"));
  calls_.replies.push_back({GrantedAnswer(), 1s});

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s, .addresses = 2});

  ASSERT_TRUE(end.answer.ok());
  EXPECT_EQ(end.sent, begin_) << "the claim may have been made: this is its lease";
  EXPECT_EQ(calls_.tries[1].attempt, 2);
  EXPECT_EQ(calls_.moves, 1);
}

TEST_F(AcquireFlowOfferTest, OfferThatTheStoreMayHaveForgottenIsAskedForAgainAfterTheQuarantine) {
  calls_.replies.push_back({Offer(), 5s});
  calls_.claims.emplace_back(Quarantined(20s));
  calls_.replies.push_back({GrantedAnswer()});

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s});

  ASSERT_TRUE(end.answer.ok());
  EXPECT_EQ(calls_.pauses, (std::vector<Duration>{20s}));
  EXPECT_EQ(calls_.tries[1].wait_timeout, 35s) << "what remains of the wait";
}

TEST_F(AcquireFlowOfferTest, OfferWhoseClaimFailsForGoodMayStillStand) {
  calls_.replies.push_back({Offer()});
  calls_.claims.emplace_back(Quarantined(20s));

  const AcquireEnd end = Run({.wait_timeout = 5s, .call_timeout = 10s});

  EXPECT_EQ(ReasonOf(end.answer.status()), ErrorReason::kStoreQuarantined);
  EXPECT_TRUE(end.unresolved) << "and is given up by a release";
}

TEST_F(AcquireFlowOfferTest, OffersThatLapseToTheEndAreNoLeaseAndNoContention) {
  for (int i = 0; i < 100; ++i) {
    calls_.replies.push_back({Offer(), 1s});
    calls_.claims.emplace_back(
        ErrorWithReason(absl::StatusCode::kFailedPrecondition, ErrorReason::kLeaseLost, "lapsed"));
  }

  const AcquireEnd end = Run({.wait_timeout = 5s, .call_timeout = 2s});

  EXPECT_EQ(ReasonOf(end.answer.status()), ErrorReason::kOutcomeUnknown);
  EXPECT_TRUE(end.unresolved);
  EXPECT_LE(time_.Now() - begin_, 7s + 1s) << "one try beyond the deadline, at most";
}

TEST_F(AcquireFlowOfferTest, OfferWhoseClaimHasNoAnswerIsNotALease) {
  calls_.replies.push_back({Offer()});
  calls_.claims.emplace_back(absl::PermissionDeniedError("no"));

  const AcquireEnd end = Run({.wait_timeout = 60s, .call_timeout = 10s});

  EXPECT_TRUE(absl::IsPermissionDenied(end.answer.status()));
  EXPECT_TRUE(end.unresolved);
}

}  // namespace
}  // namespace lockkeeper::client
