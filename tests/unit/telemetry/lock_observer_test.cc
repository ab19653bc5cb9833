// SPDX-License-Identifier: Apache-2.0
#include "telemetry/lock_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/telemetry/recorded_log.h"

namespace lockkeeper::telemetry {
namespace {

using core::WithdrawalEnd;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class LockObserverTest : public testing::Test {
 protected:
  support::RecordedLog log_;
  Metrics metrics_{"1.0", "abc"};
  TelemetryLockObserver observer_{log_.logger(), metrics_, std::chrono::seconds(10)};
};

TEST_F(LockObserverTest, WithdrawalsAreCountedByTheirEnd) {
  observer_.OnWithdrawalEnded("a", WithdrawalEnd::kWithdrawn);
  observer_.OnWithdrawalEnded("a", WithdrawalEnd::kWithdrawn);
  observer_.OnWithdrawalEnded("a", WithdrawalEnd::kNotGranted);
  observer_.OnWithdrawalEnded("a", WithdrawalEnd::kKept);
  observer_.OnWithdrawalEnded("a", WithdrawalEnd::kLeftToTtl);

  const std::string exposed = metrics_.Expose();
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_withdrawal_total{end=\"withdrawn\"} 2\n"));
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_withdrawal_total{end=\"not_granted\"} 1\n"));
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_withdrawal_total{end=\"kept\"} 1\n"));
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_withdrawal_total{end=\"left_to_ttl\"} 1\n"));
}

TEST_F(LockObserverTest, OnlyAGrantThatIsLeftToItsTtlIsAWarning) {
  observer_.OnWithdrawalEnded("a", WithdrawalEnd::kWithdrawn);
  observer_.OnWithdrawalEnded("b", WithdrawalEnd::kLeftToTtl);

  EXPECT_THAT(log_.Take(),
              ElementsAre(AllOf(HasSubstr("level=debug"), HasSubstr("event=withdrawal.ended"),
                                HasSubstr("lock_name=a")),
                          AllOf(HasSubstr("level=warn"), HasSubstr("event=withdrawal.left_to_ttl"),
                                HasSubstr("lock_name=b"))));
}

TEST_F(LockObserverTest, WaitersAreCountedWhileTheyWaitAndTimedByTheirEnd) {
  for (int i = 0; i < 3; ++i) observer_.OnWaitBegan({}, /*position=*/4);
  EXPECT_THAT(metrics_.Expose(), HasSubstr("\nlockkeeper_waiters 3\n"));

  observer_.OnWaitEnded("a", {}, core::WaitEnd::kGranted, std::chrono::seconds(2));
  observer_.OnWaitEnded("a", {}, core::WaitEnd::kTimedOut, std::chrono::minutes(5));

  const std::string exposed = metrics_.Expose();
  EXPECT_THAT(exposed, HasSubstr("\nlockkeeper_waiters 1\n"));
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_wait_seconds_bucket{end=\"granted\",le=\"1\"} 0\n"));
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_wait_seconds_bucket{end=\"granted\",le=\"2.5\"} 1\n"));
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_wait_seconds_sum{end=\"timed_out\"} 300\n"));
  for (const std::string end : {"offered", "cancelled", "caller_left", "drained", "failed"}) {
    EXPECT_THAT(exposed, HasSubstr("lockkeeper_wait_seconds_count{end=\"" + end + "\"} 0\n"));
  }
}

TEST_F(LockObserverTest, PlacesInLineThatAreKnownAreCounted) {
  for (const int position : {0, 1, 3, 4}) observer_.OnWaitBegan({}, position);

  const std::string exposed = metrics_.Expose();
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_line_position_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_line_position_bucket{le=\"3\"} 2\n"));
  EXPECT_THAT(exposed, HasSubstr("lockkeeper_line_position_count 3\n"));
}

TEST_F(LockObserverTest, OnlyLocksThatWereGrantedAfterALongWaitAreSlow) {
  using core::WaitEnd;
  for (const WaitEnd end : {WaitEnd::kGranted, WaitEnd::kOffered, WaitEnd::kTimedOut}) {
    observer_.OnWaitBegan({}, 1);
    observer_.OnWaitEnded("a", {}, end, core::Millis(10'001));
  }
  observer_.OnWaitBegan({}, 1);
  observer_.OnWaitEnded("b", {}, WaitEnd::kGranted, core::Millis(10'000));

  EXPECT_THAT(metrics_.Expose(), HasSubstr("\nlockkeeper_slow_wait_total 2\n"));
  EXPECT_THAT(log_.Take(),
              ElementsAre(AllOf(HasSubstr("level=info"), HasSubstr("event=lock.slow_wait"),
                                HasSubstr("lock_name=a"), HasSubstr("wait_ms=10001"))));
}

TEST_F(LockObserverTest, LongWaitInVainIsLoggedButNotCounted) {
  observer_.OnWaitBegan({}, 1);
  observer_.OnWaitEnded("a", {}, core::WaitEnd::kTimedOut, core::Millis(10'001));
  observer_.OnWaitBegan({}, 1);
  observer_.OnWaitEnded("b", {}, core::WaitEnd::kCallerLeft, core::Millis(10'001));

  EXPECT_THAT(metrics_.Expose(), HasSubstr("\nlockkeeper_slow_wait_total 0\n"));
  EXPECT_THAT(log_.Take(), ElementsAre(AllOf(HasSubstr("event=lock.slow_wait"),
                                             HasSubstr("in vain"), HasSubstr("lock_name=a"))));
}

TEST_F(LockObserverTest, ChangedBoundOfSlowWaitsIsThatOfTheNext) {
  observer_.SetSlowWait(core::Millis(5));
  observer_.OnWaitBegan({}, 1);
  observer_.OnWaitEnded("a", {}, core::WaitEnd::kGranted, core::Millis(6));

  EXPECT_THAT(metrics_.Expose(), HasSubstr("\nlockkeeper_slow_wait_total 1\n"));
}

TEST_F(LockObserverTest, LeasesAreTimedWhenTheyAreReleased) {
  observer_.OnReleased(core::Millis(20));

  EXPECT_THAT(metrics_.Expose(), HasSubstr("lockkeeper_hold_seconds_bucket{le=\"0.05\"} 1\n"));
}

TEST_F(LockObserverTest, ExpiredLeasesAreCountedAndNowAndThenLogged) {
  for (int i = 0; i < 50; ++i) observer_.OnExpiredLeaseReplaced("a", {i + 1});

  EXPECT_THAT(metrics_.Expose(), HasSubstr("\nlockkeeper_lease_expired_total 50\n"));
  EXPECT_THAT(log_.Take(), ElementsAre(AllOf(HasSubstr("level=info"), HasSubstr("lock_name=a"),
                                             HasSubstr("fencing_token=1"))));
}

}  // namespace
}  // namespace lockkeeper::telemetry
