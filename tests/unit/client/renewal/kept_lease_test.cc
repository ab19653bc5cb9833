// SPDX-License-Identifier: Apache-2.0
#include "renewal/kept_leases.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "support/client/manual_time.h"
#include "support/client/scripted_lease_calls.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;

const ExtendAnswer kExtended{.outcome = ExtendOutcome::kExtended, .remaining_ttl = 30s};
const ExtendAnswer kNoAnswer{.outcome = ExtendOutcome::kNoAnswer,
                             .error = absl::UnavailableError("away")};
const ExtendAnswer kLeaseLost{.outcome = ExtendOutcome::kLeaseLost,
                              .error = absl::FailedPreconditionError("ended")};

class KeptLeaseTest : public testing::Test {
 protected:
  // A lease of 30 s whose acquire is sent now.
  std::shared_ptr<KeptLease> Keep(LeaseTerms terms = {.ttl = 30s}) {
    return KeptLease::Keep({time_, time_, calls_, callbacks_, jitter_},
                           {"report", "id", 7, "proof"}, LeaseLife(terms, time_.Now(), terms.ttl),
                           std::nullopt);
  }

  // Waits until the callbacks that were posted so far have run.
  void FlushCallbacks() {
    std::promise<void> done;
    callbacks_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }

  ManualTime time_;
  const Instant begin_ = time_.Now();
  ScriptedLeaseCalls calls_;
  FixedJitter jitter_;
  CallbackThread callbacks_;
};

TEST_F(KeptLeaseTest, RenewalIsSentAtAThirdOfTheTtlWithNameAndLeaseId) {
  const auto lease = Keep();

  time_.Advance(10s - 1ns);
  EXPECT_EQ(calls_.extends(), 0u);
  time_.Advance(1ns);

  ASSERT_EQ(calls_.extends(), 1u);
  const auto call = calls_.TakeExtend();
  EXPECT_EQ(call.lease.name, "report");
  EXPECT_EQ(call.lease.lease_id, "id");
  EXPECT_EQ(call.lease.fencing_token, 7);
  EXPECT_EQ(call.lease.reassertion, "proof");
  EXPECT_EQ(call.ttl, std::nullopt);
}

TEST_F(KeptLeaseTest, RenewedLeaseIsNeverLost) {
  const auto lease = Keep();

  for (int i = 0; i < 100; ++i) {
    time_.Advance(10s);
    ASSERT_EQ(calls_.extends(), 1u) << "renewal " << i;
    calls_.AnswerExtend(kExtended);
  }

  EXPECT_FALSE(lease->lost());
  EXPECT_EQ(lease->remaining(), 29'650ms);
}

TEST_F(KeptLeaseTest, EndIsCountedFromTheSendTimeHoweverLongTheAnswerTook) {
  const auto lease = Keep();
  time_.Advance(10s);

  time_.Advance(8s);
  calls_.AnswerExtend(kExtended);

  EXPECT_EQ(lease->remaining(), 29'650ms - 8s);
}

TEST_F(KeptLeaseTest, UnansweredRenewalsAreRepeatedUntilTheLeaseIsLostAtItsOldEnd) {
  const auto lease = Keep();
  int lost = 0;
  lease->OnLost([&] { ++lost; });
  time_.Advance(10s);

  int tries = 0;
  for (; calls_.extends() > 0; ++tries) {
    calls_.AnswerExtend(kNoAnswer);
    EXPECT_EQ(lease->remaining(), 29'650ms - 10s - (time_.Now() - (begin_ + 10s)));
    time_.Advance(time_.next() - time_.Now());
  }

  EXPECT_GT(tries, 20);
  EXPECT_EQ(time_.Now() - begin_, 29'650ms);
  EXPECT_TRUE(lease->lost());
  FlushCallbacks();
  EXPECT_EQ(lost, 1);
}

TEST_F(KeptLeaseTest, LeaseIsLostInTimeAlthoughItsExtendIsStillUnderWay) {
  const auto lease = Keep({.ttl = 30s, .stop_margin = 5s});
  std::promise<void> lost;
  lease->OnLost([&] { lost.set_value(); });

  time_.Advance(24'650ms);

  lost.get_future().wait();
  EXPECT_EQ(calls_.extends(), 1u);
  EXPECT_EQ(lease->remaining(), 5s) << "the stop margin is left to stop in";
  EXPECT_TRUE(lease->stop_token().stop_requested());
  EXPECT_EQ(calls_.forgotten(), std::vector{lease->ref().lease_id})
      << "else heartbeats for other leases would keep it";
}

TEST_F(KeptLeaseTest, LateAnswerAfterTheLossIsIgnored) {
  const auto lease = Keep();
  time_.Advance(29'650ms);
  ASSERT_TRUE(lease->lost());

  calls_.AnswerExtend(kExtended);

  EXPECT_TRUE(lease->lost());
  EXPECT_EQ(lease->remaining(), 0s);
  EXPECT_EQ(time_.timers(), 0u) << "a lost lease is not renewed";
}

TEST_F(KeptLeaseTest, LossIsSeenByAPollBeforeTheTimerRan) {
  const auto lease = Keep();
  int lost = 0;
  lease->OnLost([&] { ++lost; });

  time_.Stall(29'650ms);

  EXPECT_TRUE(lease->lost());
  time_.Advance(1s);
  FlushCallbacks();
  EXPECT_EQ(lost, 1) << "the timer that is late must not raise it again";
  EXPECT_EQ(calls_.extends(), 0u);
}

TEST_F(KeptLeaseTest, LeaseLostAnswerRaisesLostOnceAndAtOnce) {
  const auto lease = Keep();
  int lost = 0;
  lease->OnLost([&] { ++lost; });
  time_.Advance(10s);

  calls_.AnswerExtend(kLeaseLost);

  EXPECT_TRUE(lease->lost());
  EXPECT_EQ(lease->remaining(), 0s);
  time_.Advance(60s);
  FlushCallbacks();
  EXPECT_EQ(lost, 1);
}

TEST_F(KeptLeaseTest, EndThatTheSessionTellsIsALossByWord) {
  KeptLeases leases;
  const auto lease = Keep();
  leases.Add(lease);
  leases.Ended("another", "id");
  leases.Ended("report", "another");
  EXPECT_FALSE(lease->lost());

  leases.Ended("report", "id");
  EXPECT_TRUE(lease->lost());
  EXPECT_EQ(lease->remaining(), 0s);
  EXPECT_EQ(lease->loss().cause, LossCause::kEnded);
  leases.Ended("report", "id");
  EXPECT_EQ(lease->Drop(), KeptLease::State::kLostByWord);
}

TEST_F(KeptLeaseTest, LeaseThatIsGoneIsNotToldOfItsEnd) {
  KeptLeases leases;
  for (int i = 0; i < 1000; ++i) {
    const auto lease = KeptLease::Keep({time_, time_, calls_, callbacks_, jitter_},
                                       {"report", std::to_string(i), 7, "proof"},
                                       LeaseLife({.ttl = 30s}, time_.Now(), 30s), std::nullopt);
    leases.Add(lease);
    lease->Drop();
  }
  leases.Ended("report", "999");
}

TEST_F(KeptLeaseTest, CallbackThatIsSetAfterTheLossRunsAtOnce) {
  const auto lease = Keep();
  time_.Advance(30s);
  std::promise<void> lost;

  lease->OnLost([&] { lost.set_value(); });

  lost.get_future().wait();
}

TEST_F(KeptLeaseTest, DroppedLeaseIsNeitherRenewedNorLost) {
  const auto lease = Keep();
  int lost = 0;
  lease->OnLost([&] { ++lost; });

  EXPECT_EQ(lease->Drop(), KeptLease::State::kHeld);

  EXPECT_EQ(time_.timers(), 0u);
  time_.Advance(60s);
  FlushCallbacks();
  EXPECT_FALSE(lease->lost());
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(lease->remaining(), 0s);
}

TEST_F(KeptLeaseTest, ExtendThatIsAnsweredLeaseLostAfterTheDropRaisesNothing) {
  const auto lease = Keep();
  int lost = 0;
  lease->OnLost([&] { ++lost; });
  time_.Advance(10s);
  ASSERT_EQ(calls_.extends(), 1u);

  lease->Drop();
  calls_.AnswerExtend(kLeaseLost);

  FlushCallbacks();
  EXPECT_EQ(lost, 0);
  EXPECT_FALSE(lease->lost());
}

TEST_F(KeptLeaseTest, DropSaysHowTheLeaseWasLost) {
  const auto in_time = Keep();
  time_.Advance(30s);
  EXPECT_EQ(in_time->Drop(), KeptLease::State::kLostInTime);
  calls_.TakeExtend();

  const auto by_word = Keep();
  time_.Advance(10s);
  calls_.AnswerExtend(kLeaseLost);
  EXPECT_EQ(by_word->Drop(), KeptLease::State::kLostByWord);
  EXPECT_TRUE(by_word->lost());
}

TEST_F(KeptLeaseTest, AnswerAfterTheLeaseIsGoneTouchesNothing) {
  auto lease = Keep();
  time_.Advance(10s);

  lease->Drop();
  lease.reset();

  calls_.AnswerExtend(kExtended);
}

TEST_F(KeptLeaseTest, ExtendedCallbackRunsAfterEachRenewalUntilTheDrop) {
  const auto lease = Keep();
  int extended = 0;
  lease->OnExtended([&] { ++extended; });

  for (int i = 0; i < 3; ++i) {
    time_.Advance(10s);
    calls_.AnswerExtend(kExtended);
    FlushCallbacks();
  }
  EXPECT_EQ(extended, 3);
  time_.Advance(10s);
  lease->Drop();
  calls_.AnswerExtend(kExtended);

  FlushCallbacks();
  EXPECT_EQ(extended, 3);
}

TEST_F(KeptLeaseTest, SlowCallbackOfOneLeaseDoesNotHoldUpTheRenewalOfAnother) {
  const auto slow = Keep({.ttl = 10s});
  std::promise<void> began;
  std::promise<void> may_return;
  slow->OnLost([&, returned = may_return.get_future()] {
    began.set_value();
    returned.wait();
  });
  time_.Advance(10s);
  began.get_future().wait();
  calls_.TakeExtend();
  const auto other = Keep();

  time_.Advance(10s);
  calls_.AnswerExtend(kExtended);

  EXPECT_FALSE(other->lost());
  EXPECT_EQ(other->remaining(), 29'650ms);
  may_return.set_value();
  FlushCallbacks();
}

TEST_F(KeptLeaseTest, AfterTheDropNoCallbackRunsOrBegins) {
  const auto lease = Keep();
  std::promise<void> began;
  std::promise<void> may_return;
  std::atomic<bool> ended = false;
  lease->OnLost([&, returned = may_return.get_future()] {
    began.set_value();
    returned.wait();
    ended = true;
  });
  time_.Advance(30s);
  began.get_future().wait();
  lease->OnLost([] { ADD_FAILURE() << "a callback began after the drop"; });

  lease->Drop();
  std::thread ending([&] { may_return.set_value(); });
  lease->WaitForCallbacks();

  EXPECT_TRUE(ended);
  ending.join();
  FlushCallbacks();
}

TEST_F(KeptLeaseTest, LeaseMayBeDroppedInItsOwnCallback) {
  const auto lease = Keep();
  std::promise<void> dropped;
  lease->OnLost([&] {
    lease->Drop();
    lease->WaitForCallbacks();
    dropped.set_value();
  });

  time_.Advance(30s);

  dropped.get_future().wait();
  FlushCallbacks();
}

// Renewals are answered on one thread while another drops the lease: whatever comes first, nothing
// is raised after the drop and the thread checker stays quiet.
TEST_F(KeptLeaseTest, DropAndAnswersOnDifferentThreadsDoNotRace) {
  for (int round = 0; round < 200; ++round) {
    const auto lease = Keep();
    std::atomic<bool> raised_after_drop = false;
    time_.Advance(10s);
    auto call = calls_.TakeExtend();

    std::atomic<bool> is_dropped = false;
    lease->OnLost([&] { raised_after_drop = is_dropped.load(); });
    std::thread answering([&] { std::move(call.done)(round % 2 == 0 ? kLeaseLost : kExtended); });
    std::thread reading([&] {
      for (int i = 0; i < 10; ++i) static_cast<void>(lease->remaining());
      static_cast<void>(lease->lost());
    });
    lease->Drop();
    lease->WaitForCallbacks();
    is_dropped = true;
    lease->OnLost([&] { raised_after_drop = true; });
    answering.join();
    reading.join();

    FlushCallbacks();
    EXPECT_FALSE(raised_after_drop) << "round " << round;
    EXPECT_EQ(time_.timers(), 0u);
  }
}

TEST_F(KeptLeaseTest, LossTellsItsCause) {
  const auto ended = Keep();
  EXPECT_EQ(ended->loss().cause, LossCause::kNotLost);
  time_.Advance(10s);
  calls_.AnswerExtend(kLeaseLost);
  EXPECT_EQ(ended->loss().cause, LossCause::kEnded);
  EXPECT_EQ(ended->loss().error.message(), "ended");
  ended->Drop();
  EXPECT_EQ(ended->loss().cause, LossCause::kEnded) << "also when it is released";

  const auto capped = Keep({.ttl = 30s, .max_hold = 30s});
  time_.Advance(30s);
  EXPECT_EQ(capped->loss().cause, LossCause::kMaxHold);
}

TEST_F(KeptLeaseTest, LossOfALeaseThatCouldNotBeRenewedHasTheLastError) {
  const auto lease = Keep();
  time_.Advance(10s);
  calls_.AnswerExtend(kNoAnswer);
  while (!lease->lost()) time_.Advance(100ms);
  EXPECT_EQ(lease->loss().cause, LossCause::kNotRenewed);
  EXPECT_EQ(lease->loss().error.message(), "away");

  const auto silent = Keep();
  time_.Advance(30s);
  EXPECT_EQ(silent->loss().cause, LossCause::kNotRenewed);
  EXPECT_EQ(silent->loss().error.message(), "no answer came in time");
}

TEST_F(KeptLeaseTest, LossAfterARenewalWithoutAnAnswerTellsWhyTheOneBeforeFailed) {
  const auto lease = Keep();
  time_.Advance(10s);
  calls_.AnswerExtend(kNoAnswer);
  while (calls_.extends() == 0) time_.Advance(100ms);
  calls_.AnswerExtend({.outcome = ExtendOutcome::kNoAnswer,
                       .error = absl::DeadlineExceededError("no answer came in time")});
  while (!lease->lost()) time_.Advance(100ms);
  EXPECT_EQ(lease->loss().error.message(),
            "no answer came in time; before that: away (UNAVAILABLE)");
}

TEST_F(KeptLeaseTest, LossWithoutARenewalMeansThatTheProcessStoodStill) {
  const auto lease = Keep();
  time_.Stall(60s);

  EXPECT_EQ(lease->loss().cause, LossCause::kPaused);
}

}  // namespace
}  // namespace lockkeeper::client
