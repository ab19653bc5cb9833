// SPDX-License-Identifier: Apache-2.0
//
// The node's clock is set while calls are under way: what they answer is believed only where it is
// true by any clock.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/errors.h"
#include "core/shard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/guard/node_guard.h"
#include "redis/guard/token_floor.h"
#include "redis/operation_queue.h"
#include "redis/redis_lock_store.h"
#include "support/fake_node/fake_node.h"
#include "support/guard_options.h"
#include "support/manual_executor.h"
#include "support/silent_guard_observer.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using core::ErrorReason;
using testing::HasSubstr;
using testing::Optional;

constexpr core::Millis kTtl{1'000};

class ClockSetUnderWayTest : public testing::Test {
 protected:
  ClockSetUnderWayTest() {
    server_.LoadCompiledScripts();
    EXPECT_TRUE(Acquire(1).ok());
    EXPECT_TRUE(Release(1).ok());
  }

  static core::LeaseId Id(uint64_t number) { return core::LeaseId::FromBits(number, number); }

  // The answer, once there is one.
  template <typename T, typename Ask>
  absl::StatusOr<T> Await(Ask ask) {
    std::optional<absl::StatusOr<T>> answer;
    ask([&answer](absl::StatusOr<T> result) { answer = std::move(result); });
    EXPECT_TRUE(executor_.AdvanceUntil([&answer] { return answer.has_value(); }, 5s));
    return answer.value_or(absl::InternalError("never answered"));
  }

  absl::StatusOr<core::AcquireOutcome> Acquire(uint64_t id) {
    return Await<core::AcquireOutcome>([this, id](core::Done<core::AcquireOutcome> done) {
      store_.Acquire({.name = lock_,
                      .lease_id = Id(id),
                      .ttl = kTtl,
                      .principal = "someone",
                      .keeper = core::Keeper(1, id),
                      .deadline = clock_.Now() + 4s},
                     std::move(done));
    });
  }

  absl::StatusOr<core::ReleaseAnswer> Release(uint64_t id) {
    return Await<core::ReleaseAnswer>([this, id](core::Done<core::ReleaseAnswer> done) {
      store_.Release({.name = lock_,
                      .lease_id = Id(id),
                      .principal = "someone",
                      .deadline = clock_.Now() + 4s},
                     std::move(done));
    });
  }

  absl::StatusOr<core::Lease> Extend(uint64_t id) {
    return Await<core::Lease>([this, id](core::Done<core::Lease> done) {
      store_.Extend({.name = lock_,
                     .lease_id = Id(id),
                     .ttl = kTtl,
                     .principal = "someone",
                     .deadline = clock_.Now() + 4s},
                    std::move(done));
    });
  }

  std::string lock_ = "a";
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  support::LuaScripts lua_;
  support::RedisModel server_{lua_, clock_};
  support::FakeNode node_{server_, clock_, executor_};
  TokenFloor floor_;
  support::SilentGuardObserver observer_;
  NodeGuard guard_{node_,  clock_,    executor_,
                   floor_, observer_, support::GuardOptionsOf(std::string(16, '1'))};
  OperationQueue queue_{node_, clock_, executor_, floor_, {.record_retention = 60s}, &guard_};
  RedisLockStore store_{node_,  queue_, floor_, clock_, {.daemon_id = std::string(16, '1')},
                        &guard_};
};

// By the clock that was set the lease is over; its holder knows better.
TEST_F(ClockSetUnderWayTest, LockThatAnotherStillHoldsIsNotHandedOut) {
  ASSERT_TRUE(Acquire(2).ok());
  executor_.AdvanceBy(600ms);
  server_.clock().StepBy(500ms);

  const auto stolen = Acquire(3);

  EXPECT_THAT(core::ReasonOf(stolen.status()), Optional(ErrorReason::kOutcomeUnknown));
  EXPECT_THAT(stolen.status().ToString(), HasSubstr("the store's clock was set"));
  EXPECT_THAT(core::ReasonOf(Acquire(4).status()), Optional(ErrorReason::kStoreQuarantined));
}

// A message led to the look that finds it out, and the lock's lane is ahead of the new marker.
TEST_F(ClockSetUnderWayTest, NothingIsHandedOutWhileTheNewMarkerIsOnItsWay) {
  lock_ = "b";
  ASSERT_EQ(core::HashOfName(lock_) % node_.lanes(), 1U) << "not the lane of the marker";
  ASSERT_TRUE(Acquire(2).ok());
  executor_.AdvanceBy(600ms);
  const uint64_t requests = node_.requests();
  node_.PlanNext({});                       // The look,
  node_.PlanNext({.request_delay = 10ms});  // the new marker.
  guard_.OnMarkerWritten("the stamp of before");
  server_.clock().StepBy(500ms);
  ASSERT_TRUE(executor_.AdvanceUntil([&] { return node_.requests() == requests + 2; }, 1s));

  EXPECT_THAT(core::ReasonOf(Acquire(3).status()), Optional(ErrorReason::kStoreQuarantined));
}

// Its end was reckoned by the wrong clock. What is set back is refused by the script itself.
TEST_F(ClockSetUnderWayTest, ExtendIsNotBelieved) {
  ASSERT_TRUE(Acquire(2).ok());
  server_.clock().StepBy(500ms);

  EXPECT_THAT(core::ReasonOf(Extend(2).status()), Optional(ErrorReason::kOutcomeUnknown));
}

TEST_F(ClockSetUnderWayTest, ReleaseIsOneByAnyClock) {
  ASSERT_TRUE(Acquire(2).ok());
  server_.clock().StepBy(500ms);

  const auto released = Release(2);

  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_TRUE(released->released());
  executor_.RunUntilIdle();
  EXPECT_GT(guard_.trust().epoch, 1) << "the step was noticed all the same";
}

// When the answer comes, the lease that was over by the wrong clock is over in truth.
TEST_F(ClockSetUnderWayTest, AnswerThatComesLateEnoughIsBelieved) {
  ASSERT_TRUE(Acquire(2).ok());
  executor_.AdvanceBy(600ms);
  server_.clock().StepBy(500ms);
  node_.PlanNext({.reply_delay = 460ms});

  const core::Instant asked = clock_.Now();
  EXPECT_TRUE(Acquire(3).ok());
  EXPECT_GE(clock_.Now() - asked, 450ms);
}

}  // namespace
}  // namespace lockkeeper::redis
