// SPDX-License-Identifier: Apache-2.0
//
// How a client keeps many leases by one message, and leaves those that it gives up.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lockkeeper/error.h"
#include "unit/client/session_transport_fixture.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;

class SessionHeartbeatTest : public SessionTransportTest {
 protected:
  static std::string IdOf(const std::string& name) { return "idof" + name; }

  static v1::Lease LeaseOf(const std::string& name) {
    v1::Lease lease;
    lease.set_name(name);
    lease.set_lease_id(IdOf(name));
    lease.set_fencing_token(7);
    lease.mutable_ttl()->set_seconds(30);
    lease.mutable_remaining_ttl()->set_seconds(30);
    return lease;
  }

  // Answers the acquire `id` with the lease of the lock `name`.
  static v1::SessionResponse GrantOf(const std::string& name, uint64_t id) {
    v1::SessionResponse message;
    v1::SessionResult& result = *message.mutable_results()->add_results();
    result.set_operation_id(id);
    *result.mutable_acquire()->mutable_lease() = LeaseOf(name);
    return message;
  }

  // Runs what renews the lease of the lock `name`.
  PendingOperationPtr Renew(const std::string& name, Duration timeout = 10s) {
    v1::SessionOperation request;
    request.mutable_extend()->set_name(name);
    request.mutable_extend()->set_lease_id(IdOf(name));
    request.mutable_extend()->set_fencing_token(7);
    request.mutable_extend()->set_reassertion("proof of " + name);
    PendingOperationPtr operation = NewOperation("renewal of " + name, request, timeout);
    operations_.Run(operation);
    return operation;
  }

  // An open session that has been granted these locks.
  ScriptedStream& Holding(const std::vector<std::string>& names) {
    ScriptedStream& stream = Opened();
    for (const std::string& name : names) {
      Acquire(name, /*waits=*/false);
      stream.FinishWrite();
      stream.Say(GrantOf(name, stream.LastBatch().at(0).id()));
    }
    return stream;
  }

  // Lets the extends gather, and returns the number of the heartbeat.
  uint64_t BeatSent(ScriptedStream& stream) {
    time_.Advance(kHeartbeatGatherMax);
    EXPECT_TRUE(stream.written.back().has_heartbeat());
    stream.FinishWrite();
    return stream.written.back().heartbeat().number();
  }

  static v1::SessionResponse Beaten(uint64_t number, const std::vector<std::string>& extended) {
    v1::SessionResponse message;
    message.mutable_heartbeat_result()->set_number(number);
    for (const std::string& name : extended) {
      (*message.mutable_heartbeat_result()->mutable_reassertions())[IdOf(name)] = "newer";
    }
    return message;
  }
};

TEST_F(SessionHeartbeatTest, SeveralLeasesAreExtendedByOneMessage) {
  ScriptedStream& stream = Holding({"a", "b", "c", "d"});
  const size_t before = stream.written.size();
  for (const char* name : {"a", "b", "c"}) Renew(name);
  EXPECT_EQ(stream.written.size(), before) << "they wait for each other";

  const uint64_t number = BeatSent(stream);
  EXPECT_EQ(stream.written.size(), before + 1);
  stream.Say(Beaten(number, {"a", "b", "c", "d"}));
  for (const char* name : {"a", "b", "c"}) {
    const OperationAnswer& answer = answers_.at("renewal of " + std::string(name));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->extend().lease().remaining_ttl().seconds(), 30);
    EXPECT_EQ(answer->extend().lease().reassertion(), "newer");
  }
}

TEST_F(SessionHeartbeatTest, LeaseThatTheHeartbeatDidNotExtendIsExtendedAlone) {
  ScriptedStream& stream = Holding({"a", "b", "c", "d"});
  Renew("a");
  Renew("b");
  Renew("c");
  const uint64_t number = BeatSent(stream);
  // `a` is at its max_hold, and has a proof all the same; `b` has more than two thirds left.
  v1::SessionResponse first = Beaten(number, {});
  first.mutable_heartbeat_result()->add_not_extended()->set_lease_id(IdOf("a"));
  first.mutable_heartbeat_result()->mutable_not_extended(0)->set_reason(
      v1::ERROR_REASON_LEASE_LIMIT);
  first.mutable_heartbeat_result()->set_more(true);
  stream.Say(std::move(first));
  EXPECT_FALSE(IsAnswered("renewal of c")) << "more is to follow";
  stream.Say(Beaten(number, {"a", "c"}));

  EXPECT_TRUE(IsAnswered("renewal of c"));
  EXPECT_FALSE(IsAnswered("renewal of a"));
  EXPECT_FALSE(IsAnswered("renewal of b"));
  EXPECT_EQ(NamesOf(stream), (std::vector<std::string>{"a", "b"}));
}

TEST_F(SessionHeartbeatTest, FewLeasesAreExtendedAtOnce) {
  ScriptedStream& stream = Holding({"a", "b", "c"});
  Renew("a");
  EXPECT_EQ(NamesOf(stream), std::vector<std::string>{"a"});
}

TEST_F(SessionHeartbeatTest, ExtendForAnotherTtlGoesAlone) {
  ScriptedStream& stream = Holding({"a", "b", "c", "d"});
  v1::SessionOperation request;
  request.mutable_extend()->set_name("a");
  request.mutable_extend()->set_lease_id(IdOf("a"));
  request.mutable_extend()->mutable_ttl()->set_seconds(5);
  operations_.Run(NewOperation("shorter", request, 10s));
  EXPECT_EQ(NamesOf(stream), std::vector<std::string>{"a"});
}

TEST_F(SessionHeartbeatTest, LeaseOfAnotherSessionIsAdopted) {
  ScriptedStream& stream = Opened();
  Renew("a");
  ASSERT_TRUE(stream.written.back().has_adopt());
  EXPECT_EQ(stream.written.back().adopt().fencing_token(), 7);
  EXPECT_EQ(stream.written.back().adopt().reassertion(), "proof of a");
  stream.FinishWrite();
  v1::SessionResponse message;
  message.mutable_adopt_result()->set_name("a");
  message.mutable_adopt_result()->set_lease_id(IdOf("a"));
  *message.mutable_adopt_result()->mutable_lease() = LeaseOf("a");
  stream.Say(std::move(message));
  ASSERT_TRUE(IsAnswered("renewal of a"));
  EXPECT_EQ(answers_.at("renewal of a")->extend().lease().name(), "a");
}

TEST_F(SessionHeartbeatTest, AdoptionThatFailsTellsWhy) {
  ScriptedStream& stream = Opened();
  Renew("a");
  stream.FinishWrite();
  v1::SessionResponse message;
  message.mutable_adopt_result()->set_lease_id(IdOf("a"));
  message.mutable_adopt_result()->mutable_error()->set_code(9);
  message.mutable_adopt_result()->mutable_error()->set_reason(v1::ERROR_REASON_LEASE_LOST);
  stream.Say(std::move(message));
  EXPECT_EQ(ReasonOf(StatusOf("renewal of a")), ErrorReason::kLeaseLost);
}

// Else the heartbeats for others would keep a lock that nobody holds.
TEST_F(SessionHeartbeatTest, LeaseThatIsGivenUpIsForgotten) {
  ScriptedStream& stream = Holding({"a"});
  operations_.Forget("other", IdOf("other"));
  EXPECT_FALSE(stream.written.back().has_forget()) << "the session never had it";
  operations_.Forget("a", IdOf("a"));
  ASSERT_TRUE(stream.written.back().has_forget());
  EXPECT_EQ(stream.written.back().forget().lease_id(), IdOf("a"));
}

TEST_F(SessionHeartbeatTest, LeaseThatIsGivenUpWhileItIsAdoptedIsForgottenThen) {
  ScriptedStream& stream = Opened();
  Renew("a");
  stream.FinishWrite();
  operations_.Forget("a", IdOf("a"));
  EXPECT_TRUE(stream.written.back().has_adopt());
  v1::SessionResponse message;
  message.mutable_adopt_result()->set_name("a");
  message.mutable_adopt_result()->set_lease_id(IdOf("a"));
  *message.mutable_adopt_result()->mutable_lease() = LeaseOf("a");
  stream.Say(std::move(message));
  EXPECT_TRUE(stream.written.back().has_forget());
}

TEST_F(SessionHeartbeatTest, LeaseThatIsGivenUpBeforeItsAdoptionIsSentIsNotAdopted) {
  ScriptedStream& stream = Opened();
  Renew("b");
  ASSERT_EQ(stream.written.back().adopt().lease_id(), IdOf("b")) << "it is on its way";
  Renew("a");
  operations_.Forget("a", IdOf("a"));
  stream.FinishWrite();
  ASSERT_TRUE(stream.written.back().has_batch());
  EXPECT_EQ(stream.LastBatch().at(0).extend().lease_id(), IdOf("a"));
}

TEST_F(SessionHeartbeatTest, GrantThatNobodyWaitsForIsForgotten) {
  ScriptedStream& stream = Opened();
  const PendingOperationPtr acquire = Acquire("a");
  stream.FinishWrite();
  const uint64_t id = stream.LastBatch().at(0).id();
  operations_.Cancel(acquire);
  stream.FinishWrite();
  stream.Say(GrantOf("a", id));
  ASSERT_TRUE(stream.written.back().has_forget());
  EXPECT_EQ(stream.written.back().forget().name(), "a");
}

TEST_F(SessionHeartbeatTest, ClaimThatNobodyWaitsForIsForgotten) {
  ScriptedStream& stream = Opened();
  v1::SessionOperation request;
  request.mutable_extend()->set_name("a");
  request.mutable_extend()->set_lease_id(IdOf("a"));
  const PendingOperationPtr claim = NewOperation("claim", std::move(request), 60s);
  operations_.Run(claim);
  stream.FinishWrite();
  const uint64_t id = stream.LastBatch().at(0).id();
  operations_.Cancel(claim);
  v1::SessionResponse message;
  v1::SessionResult& result = *message.mutable_results()->add_results();
  result.set_operation_id(id);
  *result.mutable_extend()->mutable_lease() = LeaseOf("a");
  stream.Say(std::move(message));
  ASSERT_TRUE(stream.written.back().has_forget());
  EXPECT_EQ(stream.written.back().forget().lease_id(), IdOf("a"));
}

TEST_F(SessionHeartbeatTest, LateExtendDoesNotForgetALeaseThatIsBeingAdopted) {
  ScriptedStream& stream = Opened();
  v1::SessionOperation request;
  request.mutable_extend()->set_name("a");
  request.mutable_extend()->set_lease_id(IdOf("a"));
  const PendingOperationPtr extend = NewOperation("extend", std::move(request), 60s);
  operations_.Run(extend);
  stream.FinishWrite();
  const uint64_t id = stream.LastBatch().at(0).id();
  operations_.Cancel(extend);
  Renew("a");
  ASSERT_TRUE(stream.written.back().has_adopt());
  stream.FinishWrite();
  v1::SessionResponse message;
  v1::SessionResult& result = *message.mutable_results()->add_results();
  result.set_operation_id(id);
  *result.mutable_extend()->mutable_lease() = LeaseOf("a");
  stream.Say(std::move(message));
  EXPECT_TRUE(stream.written.back().has_adopt());
}

TEST_F(SessionHeartbeatTest, GrantThatIsAskedForAgainIsKept) {
  ScriptedStream& stream = Opened();
  const auto acquire = [&](const std::string& what, const std::string& lease_id) {
    v1::SessionOperation request;
    request.mutable_acquire()->set_name("a");
    request.mutable_acquire()->set_lease_id(lease_id);
    PendingOperationPtr operation = NewOperation(what, std::move(request), 60s);
    operations_.Run(operation);
    stream.FinishWrite();
    return operation;
  };
  const PendingOperationPtr first = acquire("first", IdOf("a"));
  const uint64_t first_id = stream.LastBatch().at(0).id();
  operations_.Cancel(first);
  acquire("second", "ID-OF-A");  // The same: an id may be spelled as a UUID.
  const uint64_t second_id = stream.LastBatch().at(0).id();
  stream.Say(GrantOf("a", first_id));
  EXPECT_FALSE(stream.written.back().has_forget());
  stream.Say(GrantOf("a", second_id));
  EXPECT_TRUE(IsAnswered("second"));
  EXPECT_FALSE(stream.written.back().has_forget());

  const PendingOperationPtr third = acquire("third", IdOf("a"));
  const uint64_t third_id = stream.LastBatch().at(0).id();
  operations_.Cancel(third);
  stream.Say(GrantOf("a", third_id));
  EXPECT_FALSE(stream.written.back().has_forget()) << "the session keeps it for the second";
}

TEST_F(SessionHeartbeatTest, EndThatTheDaemonTellsIsPassedOn) {
  ScriptedStream& stream = Holding({"a", "b", "c"});
  v1::SessionResponse told;
  told.mutable_lease_lost()->set_name("a");
  told.mutable_lease_lost()->set_lease_id(IdOf("a"));
  told.mutable_lease_lost()->set_reason(v1::ERROR_REASON_LEASE_LOST);
  stream.Say(told);
  EXPECT_EQ(ended_leases_, std::vector<std::string>{"a: " + IdOf("a")});

  told.mutable_lease_lost()->set_lease_id(IdOf("b"));
  told.mutable_lease_lost()->set_reason(v1::ERROR_REASON_STORE_UNAVAILABLE);
  stream.Say(told);
  EXPECT_EQ(ended_leases_.size(), 1U) << "it was not kept, which is no end";

  // Also one that no extend asked for.
  v1::SessionResponse beaten = Beaten(1, {});
  v1::SessionLeaseLost& named = *beaten.mutable_heartbeat_result()->add_not_extended();
  named.set_name("c");
  named.set_lease_id(IdOf("c"));
  named.set_reason(v1::ERROR_REASON_LEASE_LOST);
  stream.Say(std::move(beaten));
  EXPECT_EQ(ended_leases_.back(), "c: " + IdOf("c"));
  operations_.Forget("c", IdOf("c"));
  EXPECT_FALSE(stream.written.back().has_forget()) << "the session keeps it no more";
}

TEST_F(SessionHeartbeatTest, AfterAHeartbeatWithoutAnswerEachLeaseIsExtendedAlone) {
  ScriptedStream& stream = Holding({"a", "b", "c", "d"});
  Renew("a", 2s);
  BeatSent(stream);
  stream.Say(v1::SessionResponse());  // The stream itself is not silent.
  time_.Advance(2s);
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf("renewal of a")));
  stream.Say(v1::SessionResponse());
  Renew("b");
  EXPECT_EQ(NamesOf(stream), std::vector<std::string>{"b"});
}

TEST_F(SessionHeartbeatTest, ExtendsThatGatherWhenTheStreamBreaksGoOnWithoutIt) {
  ScriptedStream& stream = Holding({"a", "b", "c", "d"});
  Renew("a");
  End(stream);
  EXPECT_FALSE(IsAnswered("renewal of a"));
  ASSERT_EQ(unary_.run.size(), 1U);
  EXPECT_EQ(unary_.run.front()->request.extend().name(), "a");
}

}  // namespace
}  // namespace lockkeeper::client
