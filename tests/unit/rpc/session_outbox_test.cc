// SPDX-License-Identifier: Apache-2.0
//
// What waits to be sent on a session, and that it is bounded.
#include "rpc/session_outbox.h"

#include <gtest/gtest.h>

#include "core/limits.h"

namespace lockkeeper::rpc {
namespace {

using core::limits::kSessionBatchMax;
using core::limits::kSessionOperationsMax;
using core::limits::kSessionRefusalsMax;

class SessionOutboxTest : public testing::Test {
 protected:
  void Answer(uint64_t id) {
    ASSERT_TRUE(outbox_.TakePlace());
    outbox_.AddResult().set_operation_id(id);
  }

  // The next message, as sent; an empty one if there is none.
  v1::SessionResponse Send() {
    const v1::SessionResponse* next = outbox_.Next();
    if (next == nullptr) return {};
    v1::SessionResponse message = *next;
    outbox_.Sent();
    return message;
  }

  static v1::SessionHeartbeatResult Beat(uint64_t number, int leases,
                                         v1::ErrorReason reason = v1::ERROR_REASON_LEASE_LOST) {
    v1::SessionHeartbeatResult result;
    result.set_number(number);
    for (int i = 0; i < leases; ++i) result.add_not_extended()->set_reason(reason);
    return result;
  }

  SessionOutbox outbox_;
};

TEST_F(SessionOutboxTest, ResultsGoTogetherUpToTheLimitOfAMessage) {
  for (int i = 0; i <= kSessionBatchMax; ++i) Answer(static_cast<uint64_t>(i));
  EXPECT_FALSE(outbox_.empty());
  EXPECT_EQ(Send().results().results_size(), kSessionBatchMax);
  const v1::SessionResponse last = Send();
  ASSERT_EQ(last.results().results_size(), 1);
  EXPECT_EQ(last.results().results(0).operation_id(), static_cast<uint64_t>(kSessionBatchMax));
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(SessionOutboxTest, PlacesAreFreeAgainWhenResultsAreOnTheirWay) {
  for (int32_t i = 0; i < kSessionOperationsMax; ++i) ASSERT_TRUE(outbox_.TakePlace());
  EXPECT_FALSE(outbox_.TakePlace());
  EXPECT_EQ(outbox_.unanswered(), kSessionOperationsMax);
  outbox_.AddResult();
  EXPECT_FALSE(outbox_.TakePlace()) << "answered, but not on its way";
  ASSERT_NE(outbox_.Next(), nullptr);
  EXPECT_TRUE(outbox_.TakePlace()) << "the client may have it before Sent() is called";
  EXPECT_FALSE(outbox_.TakePlace());
}

TEST_F(SessionOutboxTest, RefusalsAreBoundedToo) {
  for (int32_t i = 0; i < kSessionRefusalsMax; ++i) ASSERT_NE(outbox_.AddRefusal(), nullptr);
  EXPECT_EQ(outbox_.AddRefusal(), nullptr);
  EXPECT_EQ(Send().results().results_size(), kSessionBatchMax);
  EXPECT_NE(outbox_.AddRefusal(), nullptr);
}

TEST_F(SessionOutboxTest, ResultsNeverDelayWhatIsUrgent) {
  Answer(1);
  ASSERT_TRUE(outbox_.TakePlace());
  outbox_.AddOffer().set_operation_id(2);
  outbox_.AddHeartbeatResult(Beat(7, 0));
  EXPECT_EQ(Send().offer().operation_id(), 2U);
  EXPECT_EQ(Send().heartbeat_result().number(), 7U);
  EXPECT_EQ(Send().results().results_size(), 1);
}

TEST_F(SessionOutboxTest, OfHeartbeatsTheNewestIsAnsweredWithAllLostLeases) {
  outbox_.AddHeartbeatResult(Beat(1, 2));
  outbox_.AddHeartbeatResult(Beat(2, 3, v1::ERROR_REASON_STORE_UNAVAILABLE));
  const v1::SessionResponse both = Send();
  EXPECT_EQ(both.heartbeat_result().number(), 2U);
  EXPECT_EQ(both.heartbeat_result().not_extended_size(), 5);
  EXPECT_TRUE(outbox_.empty());

  outbox_.AddHeartbeatResult(Beat(3, 3, v1::ERROR_REASON_STORE_UNAVAILABLE));
  outbox_.AddHeartbeatResult(Beat(4, 0));
  EXPECT_EQ(Send().heartbeat_result().not_extended_size(), 0)
      << "the newer one has extended them, or would say so";
}

// A client counts a proof from the sending of the heartbeat whose number it comes with.
TEST_F(SessionOutboxTest, ProofsComeWithTheNumberOfTheirHeartbeat) {
  v1::SessionHeartbeatResult older = Beat(1, 1, v1::ERROR_REASON_STORE_UNAVAILABLE),
                             newer = Beat(2, 0);
  (*older.mutable_reassertions())["a"] = "older";
  (*older.mutable_reassertions())["b"] = "older";
  (*newer.mutable_reassertions())["b"] = "newer";
  outbox_.AddHeartbeatResult(older);
  outbox_.AddHeartbeatResult(newer);

  const v1::SessionResponse first = Send(), second = Send();
  EXPECT_EQ(first.heartbeat_result().number(), 1U);
  EXPECT_EQ(first.heartbeat_result().reassertions().size(), 2U);
  EXPECT_EQ(first.heartbeat_result().not_extended_size(), 1) << "or its client would count it";
  EXPECT_EQ(second.heartbeat_result().number(), 2U);
  ASSERT_EQ(second.heartbeat_result().reassertions().size(), 1U);
  EXPECT_EQ(second.heartbeat_result().reassertions().at("b"), "newer");
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(SessionOutboxTest, RestOfAnAnswerKeepsItsNumberWhenAnotherOneComes) {
  v1::SessionHeartbeatResult result = Beat(1, 0);
  for (int i = 0; i < 5'000; ++i) (*result.mutable_reassertions())[std::to_string(i)] = "proof";
  outbox_.AddHeartbeatResult(result);
  EXPECT_TRUE(Send().heartbeat_result().more());
  outbox_.AddHeartbeatResult(Beat(2, 1));
  const v1::SessionResponse rest = Send();
  EXPECT_EQ(rest.heartbeat_result().number(), 1U);
  EXPECT_FALSE(rest.heartbeat_result().more());
  EXPECT_EQ(Send().heartbeat_result().number(), 2U);
}

TEST_F(SessionOutboxTest, OnlyAFewOlderAnswersToHeartbeatsAreKept) {
  for (uint64_t number = 1; number <= 9; ++number) {
    v1::SessionHeartbeatResult result = Beat(number, 1);
    (*result.mutable_reassertions())[std::to_string(number)] = "proof";
    outbox_.AddHeartbeatResult(result);
  }
  int lost = 0;
  for (uint64_t number = 6; number <= 9; ++number) {
    const v1::SessionResponse message = Send();
    EXPECT_EQ(message.heartbeat_result().number(), number);
    lost += message.heartbeat_result().not_extended_size();
  }
  EXPECT_EQ(lost, 9) << "what is lost is told all the same";
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(SessionOutboxTest, ManyProofsTakeSeveralMessages) {
  constexpr size_t kLeases = 10'000;
  v1::SessionHeartbeatResult result = Beat(1, 5);
  for (size_t i = 0; i < kLeases; ++i)
    (*result.mutable_reassertions())[std::to_string(i)] = "proof";
  outbox_.AddHeartbeatResult(result);
  size_t seen = 0;
  int lost = 0;
  bool more = true;
  while (more) {
    const v1::SessionResponse message = Send();
    EXPECT_LE(message.heartbeat_result().reassertions().size(), 4'096U);
    seen += message.heartbeat_result().reassertions().size();
    lost += message.heartbeat_result().not_extended_size();
    more = message.heartbeat_result().more();
  }
  EXPECT_EQ(seen, kLeases);
  EXPECT_EQ(lost, 5);
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(SessionOutboxTest, ManyLostLeasesTakeSeveralMessages) {
  constexpr int kLeases = 10'000;
  outbox_.AddHeartbeatResult(Beat(1, kLeases));
  int seen = 0;
  bool more = true;
  while (more) {
    const v1::SessionResponse message = Send();
    EXPECT_EQ(message.heartbeat_result().number(), 1U);
    EXPECT_LE(message.heartbeat_result().not_extended_size(), 4'096);
    seen += message.heartbeat_result().not_extended_size();
    more = message.heartbeat_result().more();
  }
  EXPECT_EQ(seen, kLeases);
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(SessionOutboxTest, ClosedIsTheLastMessage) {
  outbox_.SetClosed({});
  Answer(1);
  EXPECT_TRUE(Send().has_results());
  EXPECT_TRUE(Send().has_closed());
  EXPECT_TRUE(outbox_.empty());
}

}  // namespace
}  // namespace lockkeeper::rpc
