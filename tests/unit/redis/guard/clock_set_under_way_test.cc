// SPDX-License-Identifier: Apache-2.0
//
// The node's clock is set while calls are under way: what they answer is believed only where it is
// true by any clock.
#include <chrono>
#include <string>

#include "core/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "unit/redis/guard/guarded_store_fixture.h"

namespace lockkeeper::redis {
namespace {

using namespace std::chrono_literals;
using core::ErrorReason;
using testing::HasSubstr;
using testing::Optional;

constexpr core::Millis kTtl{1'000};

class ClockSetUnderWayTest : public GuardedStoreTest {
 protected:
  ClockSetUnderWayTest() {
    ttl_ = kTtl;
    lock_ = "b";  // On the connection of the marker.
    EXPECT_TRUE(Acquire(1).ok());
    EXPECT_TRUE(Release(1).ok());
  }
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

// A message led to the look that finds it out, and the lock's connection is ahead of the new
// marker.
TEST_F(ClockSetUnderWayTest, NothingIsHandedOutWhileTheNewMarkerIsOnItsWay) {
  lock_ = "a";
  const Route route = daemon_.node.RouteOf(KeyLayout("lk:").RecordKey(lock_));
  ASSERT_NE(route, daemon_.node.AnyRoute()) << "not that of the marker";
  ASSERT_TRUE(Acquire(2).ok());
  executor_.AdvanceBy(600ms);
  const uint64_t requests = daemon_.node.requests();
  daemon_.node.PlanNext({});                       // The look,
  daemon_.node.PlanNext({.request_delay = 10ms});  // the new marker.
  daemon_.guard.OnMarkerWritten("the stamp of before");
  server_.clock().StepBy(500ms);
  ASSERT_TRUE(executor_.AdvanceUntil([&] { return daemon_.node.requests() == requests + 2; }, 1s));

  EXPECT_THAT(core::ReasonOf(Acquire(3).status()), Optional(ErrorReason::kStoreQuarantined));
}

// Its end was reckoned by the wrong clock. What is set back is refused by the script itself.
TEST_F(ClockSetUnderWayTest, ExtendIsNotBelieved) {
  ASSERT_TRUE(Acquire(2).ok());
  server_.clock().StepBy(500ms);

  EXPECT_THAT(core::ReasonOf(Extend(2, kTtl).status()), Optional(ErrorReason::kOutcomeUnknown));
}

TEST_F(ClockSetUnderWayTest, ReleaseIsOneByAnyClock) {
  ASSERT_TRUE(Acquire(2).ok());
  server_.clock().StepBy(500ms);

  const auto released = Release(2);

  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_TRUE(released->released());
  executor_.RunUntilIdle();
  EXPECT_GT(daemon_.guard.trust().epoch, 1) << "the step was noticed all the same";
}

// When the answer comes, the lease that was over by the wrong clock is over in truth.
TEST_F(ClockSetUnderWayTest, AnswerThatComesLateEnoughIsBelieved) {
  ASSERT_TRUE(Acquire(2).ok());
  executor_.AdvanceBy(600ms);
  server_.clock().StepBy(500ms);
  daemon_.node.PlanNext({.reply_delay = 460ms});

  const core::Instant asked = clock_.Now();
  EXPECT_TRUE(Acquire(3).ok());
  EXPECT_GE(clock_.Now() - asked, 450ms);
}

}  // namespace
}  // namespace lockkeeper::redis
