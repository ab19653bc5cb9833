// SPDX-License-Identifier: Apache-2.0
//
// What a client does with its session, and when it goes without.
#include "transport/session_transport.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lockkeeper/error.h"
#include "unit/client/session_transport_fixture.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;

// The daemon judges a session by the token that it was opened with.
TEST_F(SessionTransportTest, NewTokenIsShownByANewSession) {
  ScriptedStream& before = Opened();
  Acquire("waits");
  before.FinishWrite();
  token_version_ = 2;

  ExpectNextInANewSession(before);
  Extend("more");
  EXPECT_EQ(streams_.size(), 2U);
}

TEST_F(SessionTransportTest, NothingIsOpenedBeforeItIsNeeded) { EXPECT_TRUE(streams_.empty()); }

TEST_F(SessionTransportTest, FirstOperationsWaitForTheOpeningAndGoTogether) {
  Extend("a");
  Extend("b");
  ASSERT_EQ(streams_.size(), 1u);
  ScriptedStream& stream = *streams_[0];
  ASSERT_EQ(stream.written.size(), 1u);
  EXPECT_EQ(stream.written[0].open().owner(), "the tests");
  EXPECT_FALSE(stream.written[0].open().release_on_close());

  stream.SayOpened();
  EXPECT_EQ(stream.written.size(), 1u) << "one write at a time";
  stream.FinishWrite();

  EXPECT_EQ(NamesOf(stream), (std::vector<std::string>{"a", "b"}));
  AnswerLast(stream);
  EXPECT_TRUE(StatusOf("a").ok());
  EXPECT_EQ(answers_.at("b")->extend().lease().name(), "b");
}

TEST_F(SessionTransportTest, OperationAloneGoesOutAtOnceAndThoseDuringAWriteGoTogether) {
  ScriptedStream& stream = Opened();

  Extend("alone");
  EXPECT_EQ(NamesOf(stream), (std::vector<std::string>{"alone"}));
  const size_t written = stream.written.size();
  Extend("a");
  Extend("b");
  Extend("c");
  EXPECT_EQ(stream.written.size(), written);
  stream.FinishWrite();

  EXPECT_EQ(stream.written.size(), written + 1);
  EXPECT_EQ(NamesOf(stream), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(time_.Now(), Instant(std::chrono::hours(1))) << "no time passes";
}

TEST_F(SessionTransportTest, NumbersRiseAndAnswersFindTheirOperationsInAnyOrder) {
  ScriptedStream& stream = Opened();
  Extend("first");
  stream.FinishWrite();
  const uint64_t first = stream.LastBatch()[0].id();
  Extend("second");
  stream.FinishWrite();
  const uint64_t second = stream.LastBatch()[0].id();
  EXPECT_GT(second, first);

  for (const uint64_t id : {second, first, second, uint64_t{4711}}) {
    v1::SessionResponse message;
    message.mutable_results()->add_results()->set_operation_id(id);
    message.mutable_results()->mutable_results(0)->mutable_extend()->mutable_lease()->set_name(
        std::to_string(id));
    stream.Say(std::move(message));
  }

  EXPECT_EQ(answers_.at("first")->extend().lease().name(), std::to_string(first));
  EXPECT_EQ(answers_.at("second")->extend().lease().name(), std::to_string(second));
}

TEST_F(SessionTransportTest, MessagesStayWithinTheLimitsOfTheServer) {
  ScriptedStream& stream = Opened(/*max_outstanding=*/100'000);
  Extend("alone");
  for (int i = 0; i < 3'000; ++i) Extend("e" + std::to_string(i));
  const std::string long_name(500, 'n');
  for (int i = 0; i < 300; ++i) Extend(std::to_string(i) + long_name);

  size_t sent = 0;
  while (stream.writes_under_way > 0) {
    stream.FinishWrite();
    if (stream.writes_under_way == 0) break;
    sent += static_cast<size_t>(stream.LastBatch().size());
    EXPECT_LE(stream.LastBatch().size(), kSessionBatchMax);
    EXPECT_LT(stream.written.back().ByteSizeLong(), 62u * 1024);
  }

  EXPECT_EQ(sent, 3'300u);
}

TEST_F(SessionTransportTest, OperationThatWouldBreakTheStreamGoesAlone) {
  ScriptedStream& stream = Opened();
  const size_t written = stream.written.size();

  Extend(std::string(100'000, 'x'));
  Extend("no \xff text");

  EXPECT_EQ(unary_.run.size(), 2u);
  EXPECT_EQ(stream.written.size(), written);
}

TEST_F(SessionTransportTest, NoMoreGoesOutThanTheServerHasPlacesFor) {
  ScriptedStream& stream = Opened(/*max_outstanding=*/8);
  for (int i = 0; i < 10; ++i) Extend("e" + std::to_string(i));
  for (int i = 0; i < 10 && stream.writes_under_way > 0; ++i) stream.FinishWrite();
  EXPECT_EQ(stream.LastBatch().size() + 1, 6) << "three quarters";

  AnswerLast(stream);

  EXPECT_EQ(stream.LastBatch().size(), 4);
}

TEST_F(SessionTransportTest, WaitingAcquiresLeavePlacesForRenewals) {
  ScriptedStream& stream = Opened(/*max_outstanding=*/8);
  for (int i = 0; i < 5; ++i) {
    Acquire("w" + std::to_string(i));
    if (stream.writes_under_way > 0) stream.FinishWrite();
  }
  EXPECT_EQ(unary_.run.size(), 2u) << "three are half of what is used";

  Extend("renewal");

  EXPECT_EQ(NamesOf(stream), (std::vector<std::string>{"renewal"}));
}

TEST_F(SessionTransportTest, ErrorOfAnOperationIsItsOwn) {
  ScriptedStream& stream = Opened();
  Extend("lost");
  v1::SessionResponse message;
  v1::SessionResult& result = *message.mutable_results()->add_results();
  result.set_operation_id(stream.LastBatch()[0].id());
  result.mutable_error()->set_code(9);
  result.mutable_error()->set_reason(v1::ERROR_REASON_LEASE_LOST);

  stream.Say(std::move(message));

  EXPECT_TRUE(absl::IsFailedPrecondition(StatusOf("lost")));
  EXPECT_EQ(ReasonOf(StatusOf("lost")), ErrorReason::kLeaseLost);
}

TEST_F(SessionTransportTest, OfferIsTheAnswerOfItsAcquire) {
  ScriptedStream& stream = Opened();
  Acquire("report");
  v1::SessionResponse message;
  message.mutable_offer()->set_operation_id(stream.LastBatch()[0].id());
  message.mutable_offer()->mutable_lease()->set_fencing_token(7);

  stream.Say(std::move(message));

  ASSERT_TRUE(StatusOf("report").ok());
  EXPECT_TRUE(answers_.at("report")->acquire().lease().offered());
  EXPECT_EQ(answers_.at("report")->acquire().lease().fencing_token(), 7);
}

TEST_F(SessionTransportTest, WhatWasSentOnAStreamThatBreaksHasAnUnknownOutcome) {
  ScriptedStream& stream = Opened();
  Extend("sent");
  stream.FinishWrite();
  Acquire("also sent");
  Extend("not sent");

  End(stream);

  for (const char* name : {"sent", "also sent"}) {
    EXPECT_TRUE(absl::IsUnavailable(StatusOf(name))) << name;
    EXPECT_EQ(ReasonOf(StatusOf(name)), ErrorReason::kOutcomeUnknown);
  }
  EXPECT_FALSE(IsAnswered("not sent"));
  ASSERT_EQ(unary_.run.size(), 1u);
  EXPECT_EQ(unary_.run[0]->request.extend().name(), "not sent");
  EXPECT_EQ(stream.let_go, 1);
}

TEST_F(SessionTransportTest, NextOperationOpensANewSession) {
  End(Opened());

  ScriptedStream& second = Opened();

  EXPECT_EQ(streams_.size(), 2u);
  EXPECT_EQ(second.written[0].message_case(), v1::SessionRequest::kOpen);
  EXPECT_TRUE(unary_.run.empty());
}

TEST_F(SessionTransportTest, ServerWithoutSessionsGetsUnaryCalls) {
  Extend("first");
  End(*streams_[0], absl::UnimplementedError("unknown method"));
  Extend("second");

  ASSERT_EQ(unary_.run.size(), 2u);
  EXPECT_EQ(unary_.run[0]->request.extend().name(), "first");
  EXPECT_EQ(streams_.size(), 1u);
  EXPECT_TRUE(answers_.empty());
}

TEST_F(SessionTransportTest, StreamsThatAreCutAgainAndAgainAreGivenUpForAWhile) {
  for (int i = 0; i < kShortSessionsMax; ++i) End(Opened());

  Extend("meanwhile");
  EXPECT_EQ(unary_.run.size(), 1u);
  EXPECT_EQ(streams_.size(), static_cast<size_t>(kShortSessionsMax));

  time_.Advance(kPauseAfterCuts);
  Extend("later");
  EXPECT_EQ(unary_.run.size(), 2u) << "does not wait for the opening";
  ASSERT_EQ(streams_.size(), static_cast<size_t>(kShortSessionsMax) + 1);
  streams_.back()->FinishWrite();
  streams_.back()->SayOpened();
  Extend("by session");
  EXPECT_EQ(NamesOf(*streams_.back()), (std::vector<std::string>{"by session"}));
}

TEST_F(SessionTransportTest, StreamThatIsNeverOpenedIsGivenUp) {
  Extend("first");

  time_.Advance(kSessionOpenTimeout);
  EXPECT_EQ(streams_[0]->cancels, 1);
  End(*streams_[0], absl::CancelledError());

  EXPECT_EQ(unary_.run.size(), 1u);
  EXPECT_FALSE(IsAnswered("first"));
}

TEST_F(SessionTransportTest, LateOperationIsAnsweredAndItsResultIgnored) {
  ScriptedStream& stream = Opened();
  Extend("late", 1s);
  stream.FinishWrite();

  time_.Advance(1s);
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf("late")));
  AnswerLast(stream);

  EXPECT_EQ(stream.cancels, 0);
}

TEST_F(SessionTransportTest, OperationThatIsLateBeforeItIsSentIsNotSent) {
  ScriptedStream& stream = Opened();
  Extend("on its way");
  Extend("late", 1s);
  const size_t written = stream.written.size();

  time_.Advance(1s);
  stream.FinishWrite();

  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf("late")));
  EXPECT_EQ(stream.written.size(), written);
}

TEST_F(SessionTransportTest, SilentStreamIsPassedOverUntilItIsHeardAgain) {
  ScriptedStream& stream = Opened();
  time_.Advance(1s);
  Extend("late", 1s);
  stream.FinishWrite();
  time_.Advance(1s);

  Extend("meanwhile");
  EXPECT_EQ(unary_.run.size(), 1u);
  AnswerLast(stream);
  stream.FinishWrite();  // Of the forget: nobody waits for that answer any more.
  Extend("later");

  EXPECT_EQ(NamesOf(stream), (std::vector<std::string>{"later"}));
}

TEST_F(SessionTransportTest, StreamThatIsQuietWhileAcquiresWaitIsUsed) {
  ScriptedStream& stream = Opened();
  Acquire("report");
  stream.FinishWrite();

  time_.Advance(50s);
  Extend("renewal");
  stream.FinishWrite();
  AnswerLast(stream);
  time_.Advance(13s);

  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf("report")));
  EXPECT_TRUE(StatusOf("renewal").ok());
  stream.FinishWrite();
  Extend("next");
  EXPECT_EQ(NamesOf(stream), (std::vector<std::string>{"next"}));
}

TEST_F(SessionTransportTest, CancelledAcquireEndsAtOnceAndTheServerIsTold) {
  ScriptedStream& stream = Opened();
  const PendingOperationPtr operation = Acquire("report");
  const uint64_t id = stream.LastBatch()[0].id();
  stream.FinishWrite();

  operations_.Cancel(operation);

  EXPECT_TRUE(absl::IsCancelled(StatusOf("report")));
  EXPECT_EQ(stream.written.back().cancel().operation_id(), id);
  EXPECT_TRUE(unary_.cancelled.empty());
}

TEST_F(SessionTransportTest, CancelOfAnAcquireThatWasNotSentSendsNothing) {
  ScriptedStream& stream = Opened();
  Extend("on its way");
  const PendingOperationPtr operation = Acquire("report");
  const size_t written = stream.written.size();

  operations_.Cancel(operation);
  stream.FinishWrite();

  EXPECT_TRUE(absl::IsCancelled(StatusOf("report")));
  EXPECT_EQ(stream.written.size(), written);
}

TEST_F(SessionTransportTest, DrainingSessionIsClosedOnceItsOperationsAreAnswered) {
  ScriptedStream& stream = Opened();
  Extend("under way");
  stream.FinishWrite();
  v1::SessionResponse draining;
  draining.mutable_draining();

  stream.Say(std::move(draining));
  EXPECT_EQ(drains_, 1);
  EXPECT_FALSE(stream.writes_closed);
  AnswerLast(stream);
  EXPECT_TRUE(stream.writes_closed);
  EXPECT_TRUE(StatusOf("under way").ok());
}

// Who sees the session end must not find its daemon in use.
TEST_F(SessionTransportTest, IdleSessionIsClosedAfterItsDrainingWasHeardOf) {
  ScriptedStream& stream = Opened();
  v1::SessionResponse draining;
  draining.mutable_draining();

  stream.Say(std::move(draining));

  EXPECT_EQ(drains_, 1);
  EXPECT_FALSE(closed_before_draining_);
  EXPECT_TRUE(stream.writes_closed);
}

// A daemon that asks to move may be the only one, and goes on serving.
TEST_F(SessionTransportTest, AfterDrainingTheNextOperationOpensANewSession) {
  ScriptedStream& before = Opened();
  Acquire("waits");
  before.FinishWrite();
  v1::SessionResponse draining;
  draining.mutable_draining();
  before.Say(std::move(draining));

  ExpectNextInANewSession(before);
  EXPECT_TRUE(unary_.run.empty());
}

TEST_F(SessionTransportTest, CloseEndsAnIdleSessionInGoodOrder) {
  ScriptedStream& stream = Opened();
  std::thread closing([&] { operations_.Close(); });
  while (!stream.writes_closed) std::this_thread::yield();

  End(stream, absl::OkStatus());
  closing.join();
}

TEST_F(SessionTransportTest, CloseDoesNotWaitForADaemonThatHangs) {
  ScriptedStream& stream = Opened();
  std::thread closing([&] { operations_.Close(); });
  while (stream.cancels == 0) std::this_thread::yield();
  EXPECT_TRUE(stream.writes_closed);

  End(stream, absl::CancelledError());
  closing.join();
}

TEST_F(SessionTransportTest, CloseEndsWhatIsUnderWay) {
  ScriptedStream& stream = Opened();
  Extend("sent");
  Extend("not sent");
  std::thread closing([&] { operations_.Close(); });
  while (stream.cancels == 0) std::this_thread::yield();

  End(stream, absl::CancelledError());
  closing.join();

  EXPECT_TRUE(absl::IsUnavailable(StatusOf("sent")));
  EXPECT_TRUE(absl::IsCancelled(StatusOf("not sent")));
  EXPECT_TRUE(unary_.run.empty());
}

}  // namespace
}  // namespace lockkeeper::client
