// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_progress.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/errors.h"
#include "core/limits.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {
namespace {

using Step = SessionProgress::Step;

bool IsNothing(const Step& step) {
  return !step.release && step.write == nullptr && !step.cut_off && !step.end && !step.finish;
}

class SessionProgressTest : public testing::Test {
 protected:
  SessionProgressTest() { progress_.EnterLoop(); }

  // Sends all that there is, as far as the client reads. What comes after that.
  Step SendAll() {
    for (;;) {
      Step step = progress_.Next();
      if (step.write == nullptr) return step;
      sent_.push_back(step.write->message_case());
      progress_.Written();
    }
  }

  telemetry::Metrics metrics_{"test", "none"};
  SessionRegistry registry_{metrics_.sessions()};
  SessionProgress progress_{registry_};
  std::vector<v1::SessionResponse::MessageCase> sent_;
};

TEST_F(SessionProgressTest, OneMessageIsOnItsWayAtATime) {
  ASSERT_TRUE(progress_.outbox().TakePlace() && progress_.outbox().TakePlace());
  progress_.outbox().AddResult();
  ASSERT_NE(progress_.Next().write, nullptr);
  progress_.outbox().AddResult();

  EXPECT_TRUE(IsNothing(progress_.Next()));
  progress_.Written();
  EXPECT_NE(progress_.Next().write, nullptr);
}

TEST_F(SessionProgressTest, ClientThatSendsNoMoreGetsItsAnswersFirst) {
  ASSERT_TRUE(progress_.outbox().TakePlace());
  progress_.HalfClose();
  EXPECT_TRUE(IsNothing(progress_.Next()));
  progress_.outbox().AddResult();
  ASSERT_NE(progress_.Next().write, nullptr);
  EXPECT_TRUE(IsNothing(progress_.Next())) << "it is still on its way";
  progress_.Written();

  EXPECT_EQ(progress_.Next().end, absl::OkStatus());
}

TEST_F(SessionProgressTest, CloseWaitsForOperationsThenReleasesThenEnds) {
  ASSERT_TRUE(progress_.outbox().TakePlace());
  EXPECT_TRUE(progress_.Close());
  EXPECT_FALSE(progress_.Close()) << "once";
  EXPECT_FALSE(progress_.Next().release) << "an acquire may still get a lease";
  progress_.outbox().AddResult();

  EXPECT_TRUE(progress_.Next().release);
  progress_.Written();
  progress_.HalfClose();
  EXPECT_TRUE(IsNothing(progress_.Next())) << "it is being released";
  progress_.Closed(3);

  EXPECT_EQ(SendAll().end, absl::OkStatus());
  EXPECT_EQ(sent_, std::vector{v1::SessionResponse::kClosed});
}

TEST_F(SessionProgressTest, DrainingEndsASessionThatHasNothingToTakeElsewhere) {
  progress_.SetLeases(1);
  progress_.Drain({});
  EXPECT_TRUE(IsNothing(SendAll()));
  progress_.StartBeat(1);
  progress_.SetLeases(0);
  EXPECT_TRUE(IsNothing(SendAll())) << "a heartbeat is under way";
  progress_.FinishBeat({});

  const Step last = SendAll();

  ASSERT_TRUE(last.end);
  EXPECT_EQ(core::ReasonOf(*last.end), core::ErrorReason::kServerDraining);
}

// An operation may be on its way to it, and nobody stops.
TEST_F(SessionProgressTest, SessionThatIsAskedToMoveIsEndedByItsClient) {
  progress_.AskToMove();

  EXPECT_TRUE(IsNothing(SendAll()));
  EXPECT_EQ(sent_, std::vector{v1::SessionResponse::kDraining});
  progress_.HalfClose();
  EXPECT_EQ(SendAll().end, absl::OkStatus());
}

TEST_F(SessionProgressTest, OfHeartbeatsThatComeTooFastTheNewestIsNext) {
  EXPECT_TRUE(progress_.StartBeat(1));
  EXPECT_FALSE(progress_.StartBeat(2));
  EXPECT_FALSE(progress_.StartBeat(3));

  EXPECT_TRUE(progress_.FinishBeat({}));
  EXPECT_EQ(progress_.Next().write->heartbeat_result().number(), 1u);
  progress_.Written();
  EXPECT_FALSE(progress_.FinishBeat({}));
  EXPECT_EQ(progress_.Next().write->heartbeat_result().number(), 3u);
}

// What has no answer takes no place, and is bounded all the same.
TEST_F(SessionProgressTest, MessagesAreReadWhileFewNotesWait) {
  for (int i = 1; i < core::limits::kSessionNotesMax; ++i) {
    progress_.StartNote();
    ASSERT_FALSE(progress_.StopReading()) << i;
  }
  progress_.StartNote();
  EXPECT_TRUE(progress_.StopReading());

  EXPECT_TRUE(progress_.FinishNote()) << "now there is room";
  EXPECT_FALSE(progress_.FinishNote()) << "they are being read";
  EXPECT_FALSE(progress_.StopReading());
}

TEST_F(SessionProgressTest, WhenAllKeepTooMuchFewerNotesMayWait) {
  for (int i = 0; i <= core::limits::kSessionBatchMax; ++i) progress_.StartNote();
  EXPECT_FALSE(progress_.StopReading());
  registry_.AddKept(core::limits::kOperationsOfSessionsMax);

  EXPECT_TRUE(progress_.StopReading());

  EXPECT_TRUE(progress_.FinishNote());
  registry_.AddKept(-core::limits::kOperationsOfSessionsMax);
}

TEST_F(SessionProgressTest, NotesCountAmongWhatAllSessionsKeep) {
  {
    SessionProgress other(registry_);
    other.StartNote();
    other.Next();
    EXPECT_EQ(registry_.AddKept(0), 1);
  }
  EXPECT_EQ(registry_.AddKept(0), 0);
}

TEST_F(SessionProgressTest, CloseReleasesNothingBeforeTheNotesAreCarriedOut) {
  progress_.StartNote();
  progress_.Close();
  EXPECT_FALSE(progress_.Next().release) << "the lease may be one that is to be forgotten";

  progress_.FinishNote();

  EXPECT_TRUE(progress_.Next().release);
}

TEST_F(SessionProgressTest, FinishesOnceWhenNothingHoldsItAnyMore) {
  ASSERT_TRUE(progress_.outbox().TakePlace());
  progress_.outbox().AddResult();
  ASSERT_NE(progress_.Next().write, nullptr);
  EXPECT_TRUE(progress_.End({.cancelled = true}));
  EXPECT_FALSE(progress_.End({})) << "the first end counts";

  EXPECT_TRUE(IsNothing(progress_.Next()));
  progress_.LeaveLoop();
  EXPECT_TRUE(IsNothing(progress_.Next())) << "gRPC still writes";
  progress_.Written();
  const Step last = progress_.Next();

  ASSERT_TRUE(last.finish);
  EXPECT_TRUE(last.finish->cancelled);
  EXPECT_TRUE(IsNothing(progress_.Next()));
}

TEST_F(SessionProgressTest, SessionThatEndedBeforeItWasOpenedDoesNotEnterTheLoop) {
  SessionProgress progress(registry_);
  progress.End({.cancelled = true});

  EXPECT_FALSE(progress.EnterLoop());
  EXPECT_TRUE(progress.Next().finish);
}

}  // namespace
}  // namespace lockkeeper::rpc
