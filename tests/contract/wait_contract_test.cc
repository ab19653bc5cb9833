// SPDX-License-Identifier: Apache-2.0
//
// Waiting, as a client sees it: the domain on each store, in the store's line if it has one, else
// in a line of the daemon. Here is what holds for both.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "contract/store_contract.h"
#include "core/domain.h"

namespace lockkeeper::support {
namespace {

using core::AcquireAnswer;
using core::ContentionReason;
using core::Lease;

// Keeps the tokens of grants after a lease that expired.
class ReplacementObserver final : public core::LockObserver {
 public:
  void OnWithdrawalEnded(std::string_view, core::WithdrawalEnd) override {}
  void OnExpiredLeaseReplaced(std::string_view, core::FencingToken token) override {
    tokens.push_back(token);
  }
  std::vector<core::FencingToken> tokens;
};

class WaitContract : public StoreContract {
 protected:
  WaitContract() {
    world_->OnLoop([this] {
      const Ports ports = world_->ports(0);
      domain_ =
          std::make_unique<core::Domain>(ports.locks, ports.line, world_->clock(),
                                         world_->executor(), observer_, core::LockManagerOptions{});
    });
  }
  ~WaitContract() override {
    world_->OnLoop([this] { domain_.reset(); });
  }

  core::LockManager& locks() { return domain_->locks(); }

  // A call at the first daemon: a store with a line tells that one of its turn.
  static core::Keeper KeeperHere(uint64_t call) { return core::Keeper(kFirstDaemon, call); }

  core::AcquireRequest WaiterOf(uint64_t number, Millis wait = std::chrono::minutes(1)) {
    core::AcquireRequest request = AcquireOf("a", Id(number));
    request.keeper = KeeperHere(number);
    request.wait_timeout = wait;
    request.deadline = core::Instant::max();
    return request;
  }

  core::ReleaseRequest ReleaseNow(uint64_t number) {
    core::ReleaseRequest request = ReleaseOf("a", Id(number));
    request.deadline = core::Instant::max();
    return request;
  }

  // Lets `number` wait, and waits until it stands there.
  void Stand(uint64_t number) {
    world_->OnLoop([&] { locks().Acquire(WaiterOf(number), waits_.at(number).Into()); });
    ASSERT_TRUE(world_->Await([&] { return locks().waiting() > standing_; }));
    ++standing_;
  }

  size_t Waiting() {
    size_t waiting = 0;
    world_->OnLoop([&] { waiting = locks().waiting(); });
    return waiting;
  }

  core::NotReleasedReason ReleaseHere(uint64_t number) {
    const auto answer = AskOnLoop<core::ReleaseAnswer>([&](core::Done<core::ReleaseAnswer> done) {
      locks().Release(ReleaseNow(number), std::move(done));
    });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(core::ReleaseAnswer()).not_released;
  }

  bool HasLease(uint64_t number) {
    return Await(waits_.at(number)) && waits_.at(number).value().ok() &&
           std::holds_alternative<Lease>(*waits_.at(number).value());
  }

  ContentionReason ReasonOfEnd(const Answer<AcquireAnswer>& answer) {
    EXPECT_TRUE(Await(answer));
    if (!answer.answered() || !answer.value().ok()) return {};
    const auto* contention = std::get_if<core::Contention>(&*answer.value());
    return contention == nullptr ? ContentionReason{} : contention->reason;
  }

  // Acquires, or extends, over the lock manager.
  absl::StatusOr<AcquireAnswer> AcquireHere(const core::AcquireRequest& request) {
    return AskOnLoop<AcquireAnswer>(
        [&](core::Done<AcquireAnswer> done) { locks().Acquire(request, std::move(done)); });
  }
  absl::StatusOr<Lease> ExtendHere(uint64_t number) {
    return AskOnLoop<Lease>([&](core::Done<Lease> done) {
      core::ExtendRequest request = ExtendOf("a", Id(number));
      request.deadline = core::Instant::max();
      locks().Extend(std::move(request), std::move(done));
    });
  }

  ReplacementObserver observer_;
  std::unique_ptr<core::Domain> domain_;
  std::array<Answer<AcquireAnswer>, 10> waits_;  // By number.
  size_t standing_ = 0;
};

TEST_P(WaitContract, FreeLockIsGrantedAtOnce) {
  world_->OnLoop([&] { locks().Acquire(WaiterOf(1), waits_[1].Into()); });

  EXPECT_TRUE(HasLease(1));
}

TEST_P(WaitContract, WaitersOfOneDaemonAreServedInTheirOrder) {
  Grant("a", Id(9));
  for (const uint64_t number : {1, 2, 3}) Stand(number);

  EXPECT_EQ(ReleaseHere(9), core::NotReleasedReason::kNone);
  EXPECT_TRUE(HasLease(1));
  EXPECT_FALSE(waits_[2].answered());
  EXPECT_EQ(ReleaseHere(1), core::NotReleasedReason::kNone);
  EXPECT_TRUE(HasLease(2));
  EXPECT_FALSE(waits_[3].answered());
  EXPECT_EQ(ReleaseHere(2), core::NotReleasedReason::kNone);
  EXPECT_TRUE(HasLease(3));
}

TEST_P(WaitContract, LeaseThatHasEndedIsFollowedByTheWaiters) {
  Grant("a", Id(9));
  Stand(1);

  StepBy(kTtl);

  EXPECT_TRUE(HasLease(1));
  EXPECT_TRUE(std::get<Lease>(*waits_[1].value()).previous_lease_expired);
}

TEST_P(WaitContract, GrantAfterAnExpiredLeaseIsToldOnceHoweverOftenItIsRepeated) {
  Grant("a", Id(9));
  StepBy(kTtl);

  core::AcquireRequest request = WaiterOf(1, Millis(0));
  for (request.attempt = 1; request.attempt <= 5; ++request.attempt) {
    const auto granted = AcquireHere(request);
    ASSERT_TRUE(granted.ok() && std::holds_alternative<Lease>(*granted));
    EXPECT_TRUE(std::get<Lease>(*granted).previous_lease_expired);
    EXPECT_EQ(observer_.tokens, std::vector{std::get<Lease>(*granted).token});
  }
  StepBy(kTtl);
  AcquireHere(WaiterOf(2, Millis(0))).IgnoreError();
  EXPECT_EQ(observer_.tokens.size(), 2U) << "another grant is told";
}

// A store without a line grants the lock; one with a line offers it.
TEST_P(WaitContract, OfferAfterAnExpiredLeaseIsToldWhenItIsClaimed) {
  Grant("a", Id(9));
  core::AcquireRequest waiter = WaiterOf(1);
  waiter.claim = core::ClaimMode::kByClient;
  world_->OnLoop([&] { locks().Acquire(waiter, waits_[1].Into()); });
  ASSERT_TRUE(world_->Await([&] { return locks().waiting() == 1; }));

  StepBy(kTtl);

  ASSERT_TRUE(HasLease(1));
  const Lease& answer = std::get<Lease>(*waits_[1].value());
  EXPECT_TRUE(answer.previous_lease_expired);
  EXPECT_EQ(observer_.tokens.empty(), answer.offered);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ExtendHere(1).ok());
    EXPECT_EQ(observer_.tokens, std::vector{answer.token});
  }
}

TEST_P(WaitContract, AcquireThatDoesNotWaitDoesNotOvertake) {
  Grant("a", Id(9));
  Stand(1);
  Answer<AcquireAnswer> hasty;

  world_->OnLoop([&] {
    locks().Release(ReleaseNow(9), [](absl::StatusOr<core::ReleaseAnswer>) {});
    locks().Acquire(WaiterOf(2, Millis(0)), hasty.Into());
  });

  EXPECT_EQ(ReasonOfEnd(hasty), ContentionReason::kHeld);
  EXPECT_TRUE(HasLease(1));
}

TEST_P(WaitContract, ReleaseOfALeaseIdThatWaitsEndsItsWait) {
  Grant("a", Id(9));
  Stand(1);

  EXPECT_EQ(ReleaseHere(1), core::NotReleasedReason::kWaiterRemoved);

  EXPECT_EQ(ReasonOfEnd(waits_[1]), ContentionReason::kCancelled);
  EXPECT_EQ(ReleaseHere(9), core::NotReleasedReason::kNone);
  core::AcquireRequest again = WaiterOf(1, Millis(0));
  again.attempt = 2;
  again.deadline = Deadline();
  EXPECT_EQ(ReasonOf(Ask(again)), ErrorReason::kLeaseEnded);
}

TEST_P(WaitContract, WaitThatTimesOutLeavesNothingBehind) {
  Grant("a", Id(9));
  Answer<AcquireAnswer> short_wait;
  world_->OnLoop([&] { locks().Acquire(WaiterOf(1, Millis(50)), short_wait.Into()); });

  EXPECT_EQ(ReasonOfEnd(short_wait), ContentionReason::kWaitTimedOut);

  EXPECT_EQ(std::get<core::Contention>(*short_wait.value()).position, 1);
  EXPECT_EQ(ReleaseHere(9), core::NotReleasedReason::kNone);
  Grant("a", Id(2));
  EXPECT_EQ(Waiting(), 0U);
}

TEST_P(WaitContract, WaiterWhoseCallerIsGoneIsPassedOver) {
  Grant("a", Id(9));
  Stand(1);
  Stand(2);

  world_->OnLoop([&] { locks().Abandon(KeeperHere(1)); });
  ASSERT_TRUE(Await(waits_[1]));
  EXPECT_EQ(ReleaseHere(9), core::NotReleasedReason::kNone);

  EXPECT_TRUE(HasLease(2));
}

TEST_P(WaitContract, LaterAttemptHasThePlaceOfTheEarlierOne) {
  Grant("a", Id(9));
  Stand(1);
  Stand(2);
  core::AcquireRequest again = WaiterOf(1);
  again.attempt = 2;
  again.keeper = KeeperHere(11);
  Answer<AcquireAnswer> later;
  world_->OnLoop([&] { locks().Acquire(again, later.Into()); });
  ASSERT_TRUE(Await(waits_[1]));
  EXPECT_EQ(ReasonOf(waits_[1].value()), ErrorReason::kOutcomeUnknown);

  EXPECT_EQ(ReleaseHere(9), core::NotReleasedReason::kNone);

  ASSERT_TRUE(Await(later));
  EXPECT_TRUE(later.value().ok() && std::holds_alternative<Lease>(*later.value()));
  EXPECT_FALSE(waits_[2].answered());
}

TEST_P(WaitContract, RetryOfAHolderIsAnsweredThoughOthersWait) {
  const core::AcquireRequest held = WaiterOf(9, Millis(0));
  Answer<AcquireAnswer> first, again;
  world_->OnLoop([&] { locks().Acquire(held, first.Into()); });
  ASSERT_TRUE(Await(first));
  Stand(1);
  core::AcquireRequest retry = WaiterOf(9);
  retry.attempt = 2;

  world_->OnLoop([&] { locks().Acquire(retry, again.Into()); });

  ASSERT_TRUE(Await(again) && first.value().ok() && again.value().ok());
  ASSERT_TRUE(std::holds_alternative<Lease>(*again.value()));
  EXPECT_EQ(std::get<Lease>(*again.value()).token, std::get<Lease>(*first.value()).token);
}

TEST_P(WaitContract, DrainEndsAllWaits) {
  Grant("a", Id(9));
  Stand(1);
  Stand(2);

  world_->OnLoop([&] { locks().StartDraining(); });

  for (const uint64_t number : {1, 2}) {
    ASSERT_TRUE(Await(waits_[number]));
    EXPECT_EQ(ReasonOf(waits_[number].value()), ErrorReason::kServerDraining);
  }
}

LOCKKEEPER_CONTRACT_SUITE(WaitContract);

}  // namespace
}  // namespace lockkeeper::support
