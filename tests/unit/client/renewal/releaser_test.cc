// SPDX-License-Identifier: Apache-2.0
#include "renewal/releaser.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/client/manual_time.h"
#include "support/client/scripted_lease_calls.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;

class ReleaserTest : public testing::Test {
 protected:
  std::shared_ptr<PendingRelease> Release(Duration effort = 30s) {
    return releaser_.Release({"report", "id"}, {"parent", "state"}, time_.Now() + effort);
  }

  ManualTime time_;
  ScriptedLeaseCalls calls_;
  FixedJitter jitter_;
  Releaser releaser_{time_, time_, calls_, jitter_};
};

TEST_F(ReleaserTest, AnsweredReleaseHasItsOutcome) {
  const auto pending = Release();
  EXPECT_EQ(pending->Wait(0s), std::nullopt);

  ASSERT_EQ(calls_.releases(), 1u);
  calls_.AnswerRelease(ReleaseOutcome::kReleased);

  EXPECT_EQ(pending->Wait(0s)->value(), ReleaseOutcome::kReleased);
  EXPECT_EQ(time_.timers(), 0u);
}

// The address sanitizer sees a lease that the answer has taken away.
TEST_F(ReleaserTest, LeaseStaysUntilACallReturnsThatWasAnsweredBefore) {
  class AnsweringCalls final : public LeaseCalls {
   public:
    void Extend(const LeaseRef&, std::optional<Duration>, Duration,
                absl::AnyInvocable<void(ExtendAnswer) &&>) override {}
    void Release(const LeaseRef& lease, const TraceContext&, Duration,
                 absl::AnyInvocable<void(absl::StatusOr<ReleaseOutcome>) &&> done) override {
      std::move(done)(ReleaseOutcome::kReleased);
      released = lease.lease_id;
    }
    void Forget(const LeaseRef&) override {}

    std::string released;
  };
  AnsweringCalls calls;
  Releaser releaser(time_, time_, calls, jitter_);

  releaser.Release({"report", "id"}, {}, time_.Now() + 30s);

  EXPECT_EQ(calls.released, "id");
}

TEST_F(ReleaserTest, UnansweredReleaseIsTriedAgainWithTheSameLeaseIdAndTrace) {
  const auto pending = Release();
  for (const absl::Status& failure :
       {absl::UnavailableError(""), absl::DeadlineExceededError("")}) {
    calls_.AnswerRelease(failure);
    ASSERT_EQ(time_.timers(), 1u);
    EXPECT_LE(time_.next() - time_.Now(), 100ms);
    time_.Advance(100ms);
    ASSERT_EQ(calls_.releases(), 1u);
  }

  auto call = calls_.TakeRelease();
  EXPECT_EQ(call.lease.name, "report");
  EXPECT_EQ(call.lease.lease_id, "id");
  EXPECT_EQ(call.trace, (TraceContext{"parent", "state"}));
  std::move(call.done)(ReleaseOutcome::kReleased);

  EXPECT_EQ(pending->Wait(0s)->value(), ReleaseOutcome::kReleased);
}

TEST_F(ReleaserTest, NotHolderOnARepeatOfItsOwnIsDone) {
  const auto pending = Release();
  calls_.AnswerRelease(absl::UnavailableError("the reply was lost"));
  time_.Advance(1s);

  calls_.AnswerRelease(ReleaseOutcome::kNotHolder);

  EXPECT_EQ(pending->Wait(0s)->value(), ReleaseOutcome::kReleased);
}

TEST_F(ReleaserTest, NotHolderOnTheFirstTryIsNotDone) {
  const auto pending = Release();

  calls_.AnswerRelease(ReleaseOutcome::kNotHolder);

  EXPECT_EQ(pending->Wait(0s)->value(), ReleaseOutcome::kNotHolder);
}

TEST_F(ReleaserTest, ExpiredStaysExpiredOnARepeat) {
  const auto pending = Release();
  calls_.AnswerRelease(absl::UnavailableError(""));
  time_.Advance(1s);

  calls_.AnswerRelease(ReleaseOutcome::kExpired);

  EXPECT_EQ(pending->Wait(0s)->value(), ReleaseOutcome::kExpired);
}

TEST_F(ReleaserTest, OtherErrorsAreNotTriedAgain) {
  const auto pending = Release();

  calls_.AnswerRelease(absl::PermissionDeniedError("no"));

  EXPECT_TRUE(absl::IsPermissionDenied(pending->Wait(0s)->status()));
  EXPECT_EQ(time_.timers(), 0u);
}

TEST_F(ReleaserTest, EffortEndsWithTheLease) {
  const auto pending = Release(3s);
  const Instant end = time_.Now() + 3s;
  while (calls_.releases() > 0) {
    calls_.AnswerRelease(absl::UnavailableError("away"));
    if (time_.timers() > 0) time_.Advance(time_.next() - time_.Now());
  }

  EXPECT_TRUE(absl::IsUnavailable(pending->Wait(0s)->status()));
  EXPECT_LT(time_.Now(), end);
  EXPECT_GT(time_.Now(), end - 1s);
}

TEST_F(ReleaserTest, ReleaseWithoutAnAnswerTellsWhyItsFirstTriesFailed) {
  const auto pending = Release(2s);
  EXPECT_EQ(pending->WaitOrExplain(0s).status(),
            absl::DeadlineExceededError("the release was not answered in time"));

  calls_.AnswerRelease(absl::UnavailableError("the store is away"));
  EXPECT_EQ(pending->WaitOrExplain(0s).status(),
            absl::DeadlineExceededError("the release was not answered in time; before that: the "
                                        "store is away (UNAVAILABLE)"));
  time_.Advance(2s);
  calls_.AnswerRelease(absl::DeadlineExceededError("no answer came in time"));

  EXPECT_EQ(pending->WaitOrExplain(0s).status(),
            absl::DeadlineExceededError("no answer came in time; before that: the store is away "
                                        "(UNAVAILABLE)"));
}

TEST_F(ReleaserTest, IdleOnlyWhenNoReleaseIsUnderWay) {
  const auto first = Release();
  const auto second = Release();
  std::thread waiting([&] { releaser_.WaitUntilIdle(60s); });

  calls_.AnswerRelease(ReleaseOutcome::kReleased);
  calls_.AnswerRelease(absl::UnavailableError(""));
  time_.Advance(1s);
  calls_.AnswerRelease(ReleaseOutcome::kReleased);

  waiting.join();
  releaser_.WaitUntilIdle(60s);
}

TEST_F(ReleaserTest, BeyondTheLimitAReleaseHasOneTryOnly) {
  for (size_t i = 0; i < kPendingReleasesMax; ++i) Release();
  const auto beyond = Release();
  for (size_t i = 0; i < kPendingReleasesMax; ++i) {
    calls_.AnswerRelease(absl::UnavailableError("away"));
  }
  EXPECT_EQ(beyond->Wait(0s), std::nullopt);

  calls_.AnswerRelease(absl::UnavailableError("away"));

  EXPECT_TRUE(absl::IsUnavailable(beyond->Wait(0s)->status()));
  EXPECT_EQ(time_.timers(), kPendingReleasesMax);
}

}  // namespace
}  // namespace lockkeeper::client
