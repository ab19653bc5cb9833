// SPDX-License-Identifier: Apache-2.0
//
// The stream and the looks of an observer: time, the daemons' answers and the thread of the
// callbacks are the test's.
#include "observe/leader_watch.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockkeeper/error.h"
#include "status_payloads.h"
#include "support/client/manual_time.h"
#include "support/client/scripted_lease_calls.h"
#include "support/client/scripted_watch_calls.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;
using Kind = LockEvent::Kind;
using State = LockLook::State;

const absl::Status kGone = absl::UnavailableError("gone");

Leader LeaseOf(int64_t token) { return {.fencing_token = token, .owner = "somebody"}; }

class LeaderWatchTest : public testing::Test {
 protected:
  void SetUp() override { watch_->Start(); }

  void TearDown() override {
    watch_->Close();
    calls_.EndCancelled();
    RunCallbacks();
    watch_->WaitUntilGone();
    EXPECT_EQ(time_.timers(), 0u);
    for (const auto& watch : calls_.watches) EXPECT_TRUE(watch->has_ended());
    for (const auto& look : calls_.looks) EXPECT_TRUE(look->has_ended());
  }

  // Those that were given before.
  void RunCallbacks() {
    for (auto callbacks = std::exchange(callbacks_, {}); auto& callback : callbacks) {
      std::move(callback)();
    }
  }

  ScriptedWatch& watch() { return *calls_.watches.back(); }
  ScriptedLook& look() { return *calls_.looks.back(); }

  // Follows the leader with token 5.
  void BeginWith5() {
    watch().Say(Kind::kStarted);
    look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(5)});
    RunCallbacks();
    ASSERT_EQ(told_.size(), 1u);
    ASSERT_EQ(watch().reads, 1);
  }

  // The delay after the `failures`th error in a row, with the jitter of these tests.
  static Duration DelayAfter(int failures) { return BackoffDelay(failures, kBackoffMax, 0.5); }

  ManualTime time_;
  ScriptedWatchCalls calls_{3};
  FixedJitter jitter_{0.5};
  std::deque<absl::AnyInvocable<void() &&>> callbacks_;
  std::vector<int64_t> told_;  // Tokens; 0: nobody.
  std::vector<absl::Status> errors_;
  ObserveOptions options_{
      .on_change =
          [this](const std::optional<Leader>& leader) {
            told_.push_back(leader ? leader->fencing_token : 0);
          },
      .on_error = [this](const absl::Status& error) { errors_.push_back(error); }};
  std::shared_ptr<LeaderWatch> watch_ = std::make_shared<LeaderWatch>(
      WatchPorts{calls_, time_, time_, jitter_}, "report", options_,
      [this](auto callback) { callbacks_.push_back(std::move(callback)); });
};

TEST_F(LeaderWatchTest, LooksAfterStartedAtTheSameDaemonAndTellsTheLeader) {
  ASSERT_EQ(calls_.watches.size(), 1u);
  EXPECT_EQ(watch().daemon, 0u);
  EXPECT_EQ(watch().name, "report");
  EXPECT_EQ(watch().reads, 1);
  EXPECT_TRUE(calls_.looks.empty());

  watch().Say(Kind::kStarted);

  ASSERT_EQ(calls_.looks.size(), 1u);
  EXPECT_EQ(look().daemon, 0u);
  EXPECT_EQ(look().name, "report");
  EXPECT_EQ(look().begins, 1);
  EXPECT_EQ(watch().reads, 1) << "it hears more meanwhile";
  EXPECT_EQ(watch_->leader(), std::nullopt);

  look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(5)});

  EXPECT_EQ(watch_->leader(), LeaseOf(5));
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{5}));
}

TEST_F(LeaderWatchTest, NobodyIsToldOnceToo) {
  watch().Say(Kind::kStarted);
  look().Answer(LockLook{});
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{0}));
}

TEST_F(LeaderWatchTest, ChangesAreToldInTheirOrder) {
  BeginWith5();

  watch().Say({{Kind::kEnded, LeaseOf(5)},
               {Kind::kOffered, LeaseOf(6)},
               {Kind::kGranted, LeaseOf(6)},
               {Kind::kGranted, LeaseOf(6)},
               {Kind::kEnded, LeaseOf(6)}});
  RunCallbacks();
  watch().Say(Kind::kGranted, LeaseOf(7));
  RunCallbacks();

  EXPECT_EQ(told_, (std::vector<int64_t>{5, 0, 6, 0, 7}));
  EXPECT_EQ(calls_.looks.size(), 1u);
}

// So that what it is told cannot pile up.
TEST_F(LeaderWatchTest, NothingIsAskedForWhileTheCallerIsTold) {
  BeginWith5();

  watch().Say({{Kind::kMayMiss, {}}, {Kind::kGranted, LeaseOf(6)}});
  time_.Advance(kLookInterval);
  EXPECT_EQ(watch().reads, 0);
  EXPECT_EQ(calls_.looks.size(), 1u);
  EXPECT_EQ(watch_->leader(), LeaseOf(6));

  RunCallbacks();
  EXPECT_EQ(watch().reads, 1);
  EXPECT_EQ(calls_.looks.size(), 2u);
}

TEST_F(LeaderWatchTest, DaemonIsNotChangedWhileTheCallerIsToldOfTheError) {
  watch().End(kGone);
  time_.Advance(DelayAfter(1));
  EXPECT_EQ(calls_.watches.size(), 1u);

  RunCallbacks();
  EXPECT_EQ(calls_.watches.size(), 2u);
}

TEST_F(LeaderWatchTest, LooksEvery10Seconds) {
  BeginWith5();

  time_.Advance(kLookInterval - 1ms);
  EXPECT_EQ(calls_.looks.size(), 1u);
  time_.Advance(1ms);
  ASSERT_EQ(calls_.looks.size(), 2u);
  time_.Advance(kLookInterval);
  EXPECT_EQ(calls_.looks.size(), 2u) << "one at a time";
  look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(6)});
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{5, 6})) << "whatever it has missed";
}

// A proxy may keep a stream to itself.
TEST_F(LeaderWatchTest, LooksAlsoIfTheWatchDoesNotStart) {
  time_.Advance(kStartTimeout);
  ASSERT_EQ(calls_.looks.size(), 1u);
  look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(5)});
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{5}));
}

TEST_F(LeaderWatchTest, LooksAreOneAtATimeAndTheLastEventIsLookedAt) {
  BeginWith5();
  watch().Say({{Kind::kMayMiss, {}}, {Kind::kMayMiss, {}}});
  ASSERT_EQ(calls_.looks.size(), 2u);
  watch().Say({{Kind::kLost, LeaseOf(5)}, {Kind::kExtended, {}}});
  ASSERT_EQ(calls_.looks.size(), 2u);

  look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(5)});

  ASSERT_EQ(calls_.looks.size(), 3u);
  look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(5)});
  EXPECT_EQ(calls_.looks.size(), 3u);
}

TEST_F(LeaderWatchTest, LookThatWasOvertakenIsRepeated) {
  BeginWith5();
  watch().Say(Kind::kMayMiss);
  watch().Say(Kind::kGranted, LeaseOf(6));
  look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(5)});
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{5, 6}));
  ASSERT_EQ(calls_.looks.size(), 3u);
  look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(6)});
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{5, 6}));
}

TEST_F(LeaderWatchTest, LooksAgainWhenTheQuarantineIsOver) {
  BeginWith5();
  watch().Say(Kind::kMayMiss);
  look().Answer(
      LockLook{.state = State::kUnproven, .lease = LeaseOf(5), .quarantine_left = 2500ms});
  time_.Advance(2499ms);
  EXPECT_EQ(calls_.looks.size(), 2u);
  time_.Advance(1ms);
  ASSERT_EQ(calls_.looks.size(), 3u);
  look().Answer(LockLook{.state = State::kNone, .quarantine_left = 0s});
  EXPECT_EQ(calls_.looks.size(), 3u);
  time_.Advance(kBackoffFirst);
  ASSERT_EQ(calls_.looks.size(), 4u);
  // A long one does not put off the regular look.
  look().Answer(LockLook{.state = State::kNone, .quarantine_left = 1h});
  time_.Advance(kLookInterval);
  ASSERT_EQ(calls_.looks.size(), 5u);
  EXPECT_EQ(watch_->leader(), LeaseOf(5));
  look().Answer(LockLook{});
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{5, 0}));
}

TEST_F(LeaderWatchTest, StreamThatEndsIsToldAndTheNextDaemonIsWatchedAfterADelay) {
  BeginWith5();

  watch().End(kGone);
  RunCallbacks();

  EXPECT_EQ(errors_, (std::vector<absl::Status>{kGone}));
  EXPECT_EQ(calls_.failed, (std::vector<std::pair<size_t, absl::Status>>{{0, kGone}}));
  EXPECT_EQ(watch_->leader(), LeaseOf(5)) << "it stays as it is";
  time_.Advance(DelayAfter(1) - 1ns);
  EXPECT_EQ(calls_.watches.size(), 1u);
  time_.Advance(1ns);
  ASSERT_EQ(calls_.watches.size(), 2u);
  EXPECT_EQ(watch().daemon, 1u);
  EXPECT_EQ(watch().reads, 1);
  watch().Say(Kind::kStarted);
  EXPECT_EQ(look().daemon, 1u);
  look().Answer(LockLook{.state = State::kHeld, .lease = LeaseOf(5)});
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{5})) << "that is no change";
}

TEST_F(LeaderWatchTest, LookWithoutAnAnswerIsAnErrorOfTheConnection) {
  BeginWith5();
  watch().Say(Kind::kMayMiss);

  look().Answer(absl::DeadlineExceededError("no answer"));
  RunCallbacks();

  EXPECT_EQ(watch().cancels, 1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(errors_.at(0)));
  EXPECT_EQ(calls_.current(), 1u);
  time_.Advance(DelayAfter(1));
  EXPECT_EQ(watch().daemon, 1u);
}

TEST_F(LeaderWatchTest, WhatALeftDaemonStillSaysIsIgnored) {
  BeginWith5();
  watch().Say(Kind::kMayMiss);
  const auto old_watch = calls_.watches.back();
  const auto old_look = calls_.looks.back();
  old_look->Answer(absl::UnavailableError(""));
  RunCallbacks();
  time_.Advance(DelayAfter(1));
  watch().Say(Kind::kStarted);

  old_watch->Say(Kind::kGranted, LeaseOf(9));
  old_watch->End(kGone);
  RunCallbacks();

  EXPECT_EQ(told_, (std::vector<int64_t>{5}));
  EXPECT_EQ(errors_.size(), 1u);
  EXPECT_EQ(watch().cancels, 0);
  EXPECT_EQ(old_watch->reads, 0);
}

TEST_F(LeaderWatchTest, AnswerToTheLookAtALeftDaemonIsIgnored) {
  BeginWith5();
  watch().Say(Kind::kMayMiss);
  const auto old_look = calls_.looks.back();
  watch().End(kGone);
  RunCallbacks();
  EXPECT_EQ(old_look->cancels, 1);
  time_.Advance(DelayAfter(1));
  watch().Say(Kind::kStarted);
  ASSERT_EQ(calls_.looks.size(), 3u);

  old_look->Answer(LockLook{});

  EXPECT_EQ(watch_->leader(), LeaseOf(5));
  EXPECT_EQ(calls_.looks.size(), 3u);
}

TEST_F(LeaderWatchTest, DelaysGrowAndBeginAnewOnceAWatchServes) {
  for (int failure = 1; failure <= 8; ++failure) {
    watch().End(kGone);
    RunCallbacks();
    EXPECT_EQ(time_.next() - time_.Now(), DelayAfter(failure));
    time_.Advance(DelayAfter(failure));
    ASSERT_EQ(calls_.watches.size(), static_cast<size_t>(failure) + 1);
    EXPECT_EQ(watch().daemon, static_cast<size_t>(failure) % 3);
  }
  // A look that fails is no service.
  watch().Say(Kind::kStarted);
  look().Answer(kGone);
  RunCallbacks();
  EXPECT_EQ(time_.next() - time_.Now(), DelayAfter(9));
  time_.Advance(DelayAfter(9));

  BeginWith5();
  watch().End(kGone);
  EXPECT_EQ(time_.next() - time_.Now(), DelayAfter(1));
}

TEST_F(LeaderWatchTest, DelayThatTheServerAsksForIsKept) {
  absl::Status full = absl::ResourceExhaustedError("64 watches");
  SetRetryDelay(full, 4s);
  watch().End(full);
  RunCallbacks();
  time_.Advance(4s - 1ns);
  EXPECT_EQ(calls_.watches.size(), 1u);
  time_.Advance(1ns);
  EXPECT_EQ(calls_.watches.size(), 2u);
}

// The leases of the client must not wander about because it may not watch.
TEST_F(LeaderWatchTest, RefusalIsToldAndTriedElsewhereAndDoesNotMoveTheClient) {
  const absl::Status denied = absl::PermissionDeniedError("no `inspect`");
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(watch().daemon, i % 3);
    watch().End(denied);
    RunCallbacks();
    time_.Advance(DelayAfter(static_cast<int>(i) + 1));
  }
  EXPECT_EQ(errors_, std::vector<absl::Status>(4, denied));
  EXPECT_TRUE(calls_.failed.empty());
  EXPECT_EQ(calls_.current(), 0u);
}

TEST_F(LeaderWatchTest, AfterCloseNothingIsToldAndNothingBegins) {
  BeginWith5();
  watch().Say({{Kind::kMayMiss, {}}, {Kind::kGranted, LeaseOf(6)}});

  watch_->Close();
  watch_->Close();
  RunCallbacks();
  time_.Advance(1min);

  EXPECT_EQ(told_, (std::vector<int64_t>{5}));
  EXPECT_EQ(watch().cancels, 1);
  EXPECT_EQ(calls_.watches.size(), 1u);
  EXPECT_EQ(calls_.looks.size(), 1u);
  calls_.EndCancelled();
  RunCallbacks();
  EXPECT_TRUE(errors_.empty());
}

TEST_F(LeaderWatchTest, CloseCancelsTheLook) {
  watch().Say(Kind::kStarted);
  watch_->Close();
  EXPECT_EQ(look().cancels, 1);
  EXPECT_EQ(watch().cancels, 1);
}

TEST_F(LeaderWatchTest, CloseEndsThePause) {
  watch().End(kGone);
  RunCallbacks();
  watch_->Close();
  EXPECT_EQ(time_.timers(), 0u);
  time_.Advance(1min);
  EXPECT_EQ(calls_.watches.size(), 1u);
}

TEST_F(LeaderWatchTest, CallbackMayCloseAndIsTheLastOne) {
  options_.on_change = [this](const std::optional<Leader>& leader) {
    told_.push_back(leader ? leader->fencing_token : 0);
    EXPECT_EQ(watch_->leader(), std::nullopt) << "it is ahead of what is told";
    watch_->Close();
  };
  watch().Say({{Kind::kGranted, LeaseOf(5)}, {Kind::kEnded, LeaseOf(5)}});
  RunCallbacks();
  EXPECT_EQ(told_, (std::vector<int64_t>{5}));
  EXPECT_EQ(watch().cancels, 1);
}

TEST_F(LeaderWatchTest, WithoutCallbacksErrorsGoToStderrAndTheLeaderIsKnown) {
  options_ = {};
  testing::internal::CaptureStderr();
  watch().Say(Kind::kGranted, LeaseOf(5));
  RunCallbacks();
  watch().End(kGone);
  RunCallbacks();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lockkeeper: observer of `report`: gone\n");
  EXPECT_EQ(watch_->leader(), LeaseOf(5));
}

}  // namespace
}  // namespace lockkeeper::client
