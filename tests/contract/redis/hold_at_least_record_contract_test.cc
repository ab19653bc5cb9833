// SPDX-License-Identifier: Apache-2.0
//
// hold_at_least in records of Redis: only locks that use it have a record of format 3; the line
// waits for the lock to open; a record outlives the time for which it closes the lock.
#include "contract/redis/redis_contract.h"

namespace lockkeeper::support {
namespace {

using core::AcquireRequest;
using core::PollAnswer;

constexpr Millis kHold{60'000};  // Longer than the lease.

class HoldAtLeastRecordContract : public RedisContract {
 protected:
  AcquireRequest HoldOf(const LeaseId& id) {
    AcquireRequest request = AcquireOf("a", id);
    request.hold_at_least = kHold;
    return request;
  }

  // The same, of the first daemon, which claims for it.
  AcquireRequest WaiterOf(const LeaseId& id, Millis hold = Millis(0)) {
    AcquireRequest request = HoldOf(id);
    request.hold_at_least = hold;
    request.wait_timeout = Millis(3'600'000);
    request.attempt = 1;
    request.keeper = core::Keeper(1, 1);
    return request;
  }

  core::Waiting Stand(const AcquireRequest& request) {
    const auto outcome = Ask(request);
    EXPECT_TRUE(outcome.ok() && std::holds_alternative<core::Waiting>(*outcome));
    const core::Waiting waiting = std::get<core::Waiting>(*outcome);
    line_ = waiting.line;
    return waiting;
  }

  PollAnswer Poll() {
    const auto answer = AskOnLoop<PollAnswer>([&](core::Done<PollAnswer> done) {
      world_->daemon(0).line.Poll({.name = "a", .line = line_, .deadline = Deadline()},
                                  std::move(done));
    });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(PollAnswer());
  }

  char FormatOf(const std::string& name) { return RecordOf(name).at(0); }
  bool Exists() { return world_->IsKept("a"); }

  int64_t line_ = 0;
};

TEST_P(HoldAtLeastRecordContract, OnlyRecordsThatUseItHaveFormat3) {
  Grant("b", Id(9));
  EXPECT_EQ(FormatOf("b"), '1');
  Grant(HoldOf(Id(1)));
  EXPECT_EQ(FormatOf("a"), '3');
  Release("a", Id(1));
  EXPECT_EQ(FormatOf("a"), '3') << "while it is closed";
  StepBy(kHold);
  Grant("a", Id(2));
  EXPECT_EQ(FormatOf("a"), '1') << "again";
  Release("a", Id(2));
  EXPECT_EQ(FormatOf("a"), '2');
}

TEST_P(HoldAtLeastRecordContract, RecordIsKeptForTheRetentionAfterTheLockOpens) {
  Grant(HoldOf(Id(1)));
  Release("a", Id(1));

  StepBy(kHold + kRetention - Millis(1));
  EXPECT_TRUE(Exists());
  EXPECT_EQ(Release("a", Id(1)), core::NotReleasedReason::kNone);
  StepBy(Millis(2));
  EXPECT_FALSE(Exists());
  EXPECT_EQ(KeyCount(), 0);
}

TEST_P(HoldAtLeastRecordContract, RecordIsKeptAfterALeaseThatExpired) {
  Grant(HoldOf(Id(1)));

  StepBy(kHold + kRetention - Millis(1));
  EXPECT_TRUE(Exists());
  StepBy(Millis(2));
  EXPECT_FALSE(Exists());
}

TEST_P(HoldAtLeastRecordContract, ClosedLockIsListed) {
  Grant(HoldOf(Id(1)));
  Release("a", Id(1));

  const auto page = Ask(core::ListRequest{.page_size = 10, .deadline = Deadline()});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->locks.size(), 1U);
  EXPECT_EQ(page->locks[0].closed_for, kHold);
  StepBy(kHold);
  EXPECT_TRUE(Ask(core::ListRequest{.page_size = 10, .deadline = Deadline()})->locks.empty());
}

TEST_P(HoldAtLeastRecordContract, WaiterIsServedWhenTheLockOpens) {
  Grant(HoldOf(Id(1)));
  EXPECT_EQ(Stand(WaiterOf(Id(2))).free_in, kHold);
  StepBy(Millis(1'000));
  Release("a", Id(1));
  const PollAnswer closed = Poll();
  EXPECT_FALSE(closed.offer);
  EXPECT_EQ(closed.free_in, kHold - Millis(1'000));
  EXPECT_EQ(Contend("a", Id(3)).reason, core::ContentionReason::kClosed);

  for (Millis left = kHold - Millis(1'000); left > Millis(0); left -= Millis(10'000)) {
    EXPECT_FALSE(Poll().offer);  // As the daemon does, to keep its waiters in line.
    StepBy(std::min(left, Millis(10'000)));
  }
  const PollAnswer open = Poll();
  ASSERT_TRUE(open.offer);
  EXPECT_EQ(open.offer->lease_id, Id(2));
  EXPECT_FALSE(open.offer->previous_lease_expired);
}

TEST_P(HoldAtLeastRecordContract, AfterAWaitItCountsFromTheClaim) {
  Grant("a", Id(1));
  Stand(WaiterOf(Id(2), kHold));
  StepBy(kTtl);
  ASSERT_TRUE(Poll().offer);
  EXPECT_EQ(FormatOf("a"), '3');
  StepBy(Millis(500));
  EXPECT_EQ(Extend(ExtendOf("a", Id(2))).remaining_ttl, kTtl);
  EXPECT_EQ(Get("a").closed_for, kHold);
  Release("a", Id(2));

  EXPECT_EQ(Contend("a", Id(3)).remaining_ttl, kHold);
}

// It hands the waiter over as it knows how, and keeps what it does not know in the text.
TEST_P(HoldAtLeastRecordContract, OfferThatAnOlderDaemonMadeIsClaimedWithIt) {
  Grant("a", Id(1));
  Stand(WaiterOf(Id(2), kHold));
  StepBy(kTtl);
  ASSERT_TRUE(Poll().offer);
  PutRecord("a", RecordOf("a").replace(0, 1, "1"));

  Extend(ExtendOf("a", Id(2)));
  EXPECT_EQ(FormatOf("a"), '3');
  Release("a", Id(2));
  EXPECT_EQ(Contend("a", Id(3)).remaining_ttl, kHold);
}

TEST_P(HoldAtLeastRecordContract, OfferThatLapsesClosesNothing) {
  Grant("a", Id(1));
  Stand(WaiterOf(Id(2), kHold));
  StepBy(kTtl);
  ASSERT_TRUE(Poll().offer);
  StepBy(Millis(1'000));

  Grant("a", Id(3));
}

TEST_P(HoldAtLeastRecordContract, OpenedByForceItGoesToTheFirstWaiter) {
  Grant(HoldOf(Id(1)));
  Stand(WaiterOf(Id(2)));
  Release("a", Id(1));

  EXPECT_TRUE(ForceRelease("a", core::ReleaseDelay::kNone).opened);

  const PollAnswer answer = Poll();
  ASSERT_TRUE(answer.offer);
  EXPECT_EQ(answer.offer->lease_id, Id(2));
}

LOCKKEEPER_REDIS_SUITE(HoldAtLeastRecordContract);

}  // namespace
}  // namespace lockkeeper::support
