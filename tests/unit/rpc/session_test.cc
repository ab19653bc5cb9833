// SPDX-License-Identifier: Apache-2.0
//
// A session over a real stream: its messages and their order, clients that do not read, streams
// that break, the end. What it does with leases is in core/session_test.cc.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "core/limits.h"
#include "rpc/fair_share.h"
#include "support/mailbox.h"
#include "support/rpc/error_reason.h"
#include "support/rpc/in_process_server.h"
#include "support/rpc/session_caller.h"

namespace lockkeeper::rpc {
namespace {

using core::AcquireOutcome;
using core::WithdrawResult;
using std::chrono::seconds;
using support::AcquireOperation;
using support::ExtendOperation;
using support::Mailbox;
using support::ReleaseOperation;
using support::SessionCaller;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string kLeaseId(core::HexId::kLength, 'a');

class SessionTest : public testing::Test {
 protected:
  SessionTest() : session_(server_.NewChannel()) {
    store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
      core::Lease lease;
      lease.name = request.name;
      lease.lease_id = request.lease_id;
      lease.token = core::FencingToken{42};
      lease.ttl = request.ttl;
      lease.remaining_ttl = request.ttl;
      lease.offered = request.claim == core::ClaimMode::kByClient;
      store().AnswerLater<AcquireOutcome>(std::move(done), AcquireOutcome(lease));
    };
    store().on_release = [this](const core::ReleaseRequest& request, auto done) {
      released_.Put(request.name);
      store().AnswerLater<core::ReleaseAnswer>(std::move(done), core::ReleaseAnswer{});
    };
    store().on_extend = [this](const core::ExtendRequest& request, auto done) {
      extended_.Put(request.name);
      store().AnswerLater<core::Lease>(std::move(done),
                                       core::Error(core::ErrorReason::kLeaseLost, "it has ended"));
    };
    store().on_withdraw = [this](const core::WithdrawRequest& request, auto done) {
      withdrawn_.Put(request.name);
      store().AnswerLater<WithdrawResult>(std::move(done), WithdrawResult::kWithdrawn);
    };
    store().on_poll = [this](const core::PollRequest&, auto done) {
      store().AnswerLater<core::PollAnswer>(std::move(done), core::PollAnswer{});
    };
  }

  support::ScriptedStore& store() { return server_.store(); }

  // Grants leases that a heartbeat extends at once.
  void GrantShortLeases() {
    store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
      core::Lease lease;
      lease.name = request.name;
      lease.lease_id = request.lease_id;
      lease.ttl = request.ttl;
      lease.remaining_ttl = request.ttl / 3;
      store().AnswerLater<AcquireOutcome>(std::move(done), AcquireOutcome(lease));
    };
  }

  // Acquires reach the test instead of being answered.
  void HoldAcquires() {
    store().on_acquire = [this](const core::AcquireRequest&, auto done) {
      held_.Put(std::move(done));
    };
  }

  // As many as go into a message, with answers as long as can be.
  static std::vector<v1::SessionOperation> LongAcquires() {
    return std::vector<v1::SessionOperation>(
        100, AcquireOperation(1, std::string(core::limits::kNameBytesMax, 'n'), kLeaseId));
  }

  static v1::SessionRequest ForgetOf(const std::string& name, const std::string& lease_id) {
    v1::SessionRequest message;
    message.mutable_forget()->set_name(name);
    message.mutable_forget()->set_lease_id(lease_id);
    return message;
  }

  void WaitForLog(const std::string& text) {
    while (server_.log().LinesWith(text).empty()) server_.loop().RunAndWait([] {});
  }

  // The reason why the stream ended.
  std::string EndReason() {
    while (session_.Read()) {
    }
    return support::ReasonOf(session_.Finish());
  }

  // Before the server, whose loop goes on putting into them until it ends.
  Mailbox<std::string> owners_, released_, extended_, withdrawn_;
  Mailbox<core::Done<AcquireOutcome>> held_;
  support::InProcessServer server_;
  SessionCaller session_;
};

TEST_F(SessionTest, OperationsAreAnsweredByTheirIds) {
  const v1::SessionOpened opened = session_.Open();
  EXPECT_FALSE(opened.session_id().empty());
  EXPECT_EQ(opened.max_outstanding_operations(), core::limits::kSessionOperationsMax);

  session_.Send({AcquireOperation(11, "a", kLeaseId), AcquireOperation(12, "b{", kLeaseId),
                 ReleaseOperation(13, "a", kLeaseId), v1::SessionOperation()});
  std::vector<uint64_t> ids;
  for (int i = 0; i < 4; ++i) {
    const auto result = session_.ReadResult();
    ASSERT_TRUE(result);
    ids.push_back(result->operation_id());
    if (result->operation_id() == 11) {
      EXPECT_EQ(result->acquire().lease().fencing_token(), 42);
    }
    if (result->operation_id() == 12) {
      EXPECT_EQ(result->error().reason(), v1::ERROR_REASON_INVALID_FIELD);
      EXPECT_EQ(result->error().code(), grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_EQ(result->error().metadata().at("field"), "name");
    }
    if (result->operation_id() == 13) {
      EXPECT_TRUE(result->release().released());
    }
    if (result->operation_id() == 0) {
      EXPECT_THAT(result->error().message(), HasSubstr("operation"));
    }
  }
  EXPECT_THAT(ids, UnorderedElementsAre(11, 12, 13, 0));
}

TEST_F(SessionTest, OwnerOfTheSessionIsThatOfAcquiresWithout) {
  store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
    owners_.Put(request.owner);
    store().AnswerLater<AcquireOutcome>(std::move(done), AcquireOutcome(core::Contention{}));
  };
  v1::SessionOpen open;
  open.set_owner("me");
  session_.Open(open);
  v1::SessionOperation named = AcquireOperation(2, "b", kLeaseId);
  named.mutable_acquire()->set_owner("somebody");
  session_.Send({AcquireOperation(1, "a", kLeaseId), named});
  EXPECT_EQ(owners_.Take(), "me");
  EXPECT_EQ(owners_.Take(), "somebody");
}

TEST_F(SessionTest, LogSaysWhoGotWhichLock) {
  v1::SessionOpen open;
  open.set_owner("me");
  session_.Open(open);
  v1::SessionOperation named = AcquireOperation(2, "b", kLeaseId);
  named.mutable_acquire()->set_owner("somebody");
  session_.Send({AcquireOperation(1, "a", kLeaseId), named, ReleaseOperation(3, "a", kLeaseId)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session_.ReadResult());

  const auto logged = server_.log().LinesWith("event=rpc.answered");

  EXPECT_THAT(
      logged,
      UnorderedElementsAre(
          HasSubstr(
              "owner_id=me lock_name=a lease_id_prefix=aaaaaaaa fencing_token=42 outcome=granted"),
          HasSubstr("owner_id=somebody lock_name=b lease_id_prefix=aaaaaaaa fencing_token=42 "
                    "outcome=granted"),
          HasSubstr("owner_id=me lock_name=a lease_id_prefix=aaaaaaaa outcome=released")));
}

TEST_F(SessionTest, LogNamesTheLockOfAFailedOperation) {
  store().on_acquire = [this](const core::AcquireRequest&, auto done) {
    store().AnswerLater<AcquireOutcome>(
        std::move(done), core::Error(core::ErrorReason::kStoreUnavailable, "it is away"));
  };
  session_.Open();
  session_.Send({AcquireOperation(1, "a", kLeaseId)});
  ASSERT_TRUE(session_.ReadResult());

  EXPECT_THAT(server_.log().LinesWith("event=rpc.unavailable"),
              ElementsAre(HasSubstr("lock_name=a")));
}

TEST_F(SessionTest, RejectedOperationIsLoggedAndCountedAsThatOfACall) {
  v1::SessionOpen open;
  open.set_owner("me");
  session_.Open(open);
  session_.Send({AcquireOperation(1, "with{brace", kLeaseId), v1::SessionOperation()});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(session_.ReadResult());

  EXPECT_THAT(server_.log().LinesWith("event=rpc.answered"),
              ElementsAre(testing::AllOf(
                  HasSubstr("rpc=Acquire"), HasSubstr("owner_id=me lock_name=with{brace"),
                  HasSubstr("outcome=error"), HasSubstr("reason=INVALID_FIELD"))))
      << "the other one says not what it is";
  EXPECT_THAT(server_.metrics().Expose(), HasSubstr("outcome=\"error\",rpc=\"Acquire\"} 1"));
}

TEST_F(SessionTest, SessionsAndTheirLeasesAreCounted) {
  const auto counts = [this](int sessions, int leases) {
    const std::string exposed = server_.metrics().Expose();
    return exposed.find("\nlockkeeper_sessions " + std::to_string(sessions) + "\n") !=
               std::string::npos &&
           exposed.find("\nlockkeeper_session_leases " + std::to_string(leases) + "\n") !=
               std::string::npos;
  };
  EXPECT_TRUE(counts(0, 0));
  session_.Open();
  session_.Send({AcquireOperation(1, "a", kLeaseId), AcquireOperation(2, "b", kLeaseId)});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(session_.ReadResult());
  EXPECT_TRUE(counts(1, 2));
  session_.Send({ReleaseOperation(3, "a", kLeaseId)});
  ASSERT_TRUE(session_.ReadResult());
  EXPECT_TRUE(counts(1, 1));

  session_.Break();

  while (!counts(0, 0)) server_.loop().RunAndWait([] {});
}

// What it holds cannot be released elsewhere as well as here.
TEST_F(SessionTest, OpenSessionGoesOnWhileTheServerStops) {
  session_.Open();
  std::thread stopping([this] { server_.server().Shutdown(core::Millis(20'000)); });
  const auto stub = v1::LockService::NewStub(server_.NewChannel());
  v1::FenceRequest late;
  v1::FenceResponse response;
  std::string turned_away;
  while (turned_away != "SERVER_DRAINING") {
    grpc::ClientContext context;
    turned_away = support::ReasonOf(stub->Fence(&context, late, &response));
  }

  session_.Send({ReleaseOperation(1, "a", kLeaseId)});
  const auto result = session_.ReadResult();
  session_.HalfClose();
  stopping.join();

  ASSERT_TRUE(result);
  EXPECT_TRUE(result->release().released());
}

TEST_F(SessionTest, FirstMessageHasToOpen) {
  session_.Heartbeat(1);
  EXPECT_EQ(EndReason(), "INVALID_FIELD");
}

TEST_F(SessionTest, SecondOpenEndsTheSession) {
  session_.Open();
  v1::SessionRequest again;
  again.mutable_open();
  session_.Send(again);
  EXPECT_EQ(EndReason(), "INVALID_FIELD");
}

TEST_F(SessionTest, BatchHasAtLeastOneOperation) {
  session_.Open();
  session_.Send(std::vector<v1::SessionOperation>());
  EXPECT_EQ(EndReason(), "INVALID_FIELD");
}

TEST_F(SessionTest, BatchHasAtMost1024Operations) {
  session_.Open();
  std::vector<v1::SessionOperation> operations(core::limits::kSessionBatchMax + 1);
  session_.Send(operations);
  EXPECT_EQ(EndReason(), "INVALID_FIELD");
}

TEST_F(SessionTest, OfferIsTheAnswerOfItsAcquire) {
  session_.Open();
  v1::SessionOperation acquire = AcquireOperation(5, "a", kLeaseId, seconds(60));
  acquire.mutable_acquire()->set_confirm(true);
  session_.Send({acquire});
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_offer());
  EXPECT_EQ(message->offer().operation_id(), 5U);
  EXPECT_TRUE(message->offer().lease().offered());
}

TEST_F(SessionTest, HeartbeatTellsOfLostLeases) {
  session_.Open();
  v1::SessionOperation acquire = AcquireOperation(5, "a", kLeaseId);
  GrantShortLeases();
  session_.Send({acquire});
  ASSERT_TRUE(session_.ReadResult());
  session_.Heartbeat(7);
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_heartbeat_result());
  EXPECT_EQ(message->heartbeat_result().number(), 7U);
  ASSERT_EQ(message->heartbeat_result().not_extended_size(), 1);
  EXPECT_EQ(message->heartbeat_result().not_extended(0).name(), "a");
  EXPECT_EQ(message->heartbeat_result().not_extended(0).lease_id(), kLeaseId);
  EXPECT_EQ(message->heartbeat_result().not_extended(0).reason(), v1::ERROR_REASON_LEASE_LOST);
  EXPECT_THAT(server_.metrics().Expose(),
              HasSubstr("\nlockkeeper_session_heartbeat_seconds_count 1\n"));
}

TEST_F(SessionTest, HeartbeatIsAnsweredWithTheNewProofs) {
  session_.Open();
  GrantShortLeases();
  store().on_extend = [this](const core::ExtendRequest& request, auto done) {
    core::Lease lease;
    lease.name = request.name;
    lease.lease_id = request.lease_id;
    lease.ttl = request.ttl;
    lease.remaining_ttl = request.ttl;
    lease.reassertion = "newest";
    store().AnswerLater<core::Lease>(std::move(done), lease);
  };
  session_.Send({AcquireOperation(5, "a", kLeaseId)});
  ASSERT_TRUE(session_.ReadResult());
  session_.Heartbeat(7);
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_heartbeat_result());
  EXPECT_EQ(message->heartbeat_result().not_extended_size(), 0);
  ASSERT_EQ(message->heartbeat_result().reassertions().size(), 1U);
  EXPECT_EQ(message->heartbeat_result().reassertions().at(kLeaseId), "newest");
}

TEST_F(SessionTest, ForgottenLeaseIsLeftAlone) {
  int extends = 0;
  store().on_extend = [&](const core::ExtendRequest& /*request*/, auto done) {
    ++extends;
    store().AnswerLater<core::Lease>(std::move(done), core::Lease());
  };
  session_.Open();
  GrantShortLeases();
  session_.Send({AcquireOperation(5, "a", kLeaseId)});
  ASSERT_TRUE(session_.ReadResult());
  session_.Send(ForgetOf("a", kLeaseId));
  session_.Heartbeat(7);
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_heartbeat_result());
  EXPECT_EQ(message->heartbeat_result().not_extended_size(), 0);
  EXPECT_EQ(extends, 0);
}

TEST_F(SessionTest, ForgetNeedsALeaseId) {
  session_.Open();
  session_.Send(ForgetOf("a", ""));
  EXPECT_EQ(EndReason(), "INVALID_FIELD");
}

TEST_F(SessionTest, ForgetNeedsANameThatALockMayHave) {
  session_.Open();
  session_.Send(ForgetOf(std::string(core::limits::kNameBytesMax, 'n'), kLeaseId));
  session_.Heartbeat(1);
  ASSERT_TRUE(session_.Read()) << "the longest is none too long";
  session_.Send(ForgetOf(std::string(core::limits::kNameBytesMax + 1, 'n'), kLeaseId));
  EXPECT_EQ(EndReason(), "INVALID_FIELD");
}

TEST_F(SessionTest, ForgetOfAnotherSessionLeavesALeaseAlone) {
  GrantShortLeases();
  session_.Open();
  session_.Send({AcquireOperation(5, "a", kLeaseId)});
  ASSERT_TRUE(session_.ReadResult());
  SessionCaller other(server_.NewChannel());
  other.Open();
  other.Send(ForgetOf("a", kLeaseId));
  other.Heartbeat(1);
  ASSERT_TRUE(other.Read()) << "it is carried out";

  session_.Heartbeat(7);
  EXPECT_EQ(extended_.Take(), "a");
}

// Goal: nobody makes the daemon keep forgets without end. Method: a client that sends on while the
// loop is busy, and says now and then how far its messages are read: by an operation that the gate
// rejects without the loop.
TEST_F(SessionTest, MessagesBehindTooManyForgetsAreReadLater) {
  constexpr size_t kStep = 1'024;
  constexpr size_t kStepsRead = core::limits::kSessionNotesMax / kStep;
  session_.Open();
  std::promise<void> loop_may_go_on;
  server_.loop().Post([go_on = loop_may_go_on.get_future()] { go_on.wait(); });
  std::thread sender([&] {
    const v1::SessionRequest forget = ForgetOf(std::string(512, 'n'), kLeaseId);
    for (size_t step = 0; step < 2 * kStepsRead; ++step) {
      for (size_t i = 0; i < kStep; ++i) session_.Send(forget);
      session_.Send({ReleaseOperation(1, "with{brace", kLeaseId)});
    }
    session_.Heartbeat(7);
  });
  const auto rejected = [this] { return server_.log().LinesWith("lock_name=with{brace").size(); };
  const auto stub = v1::LockService::NewStub(server_.NewChannel());
  const auto let_the_server_work = [&] {
    grpc::ClientContext context;
    v1::FenceResponse response;
    stub->Fence(&context, v1::FenceRequest(), &response);  // It has no name.
  };
  while (rejected() < kStepsRead - 1) let_the_server_work();
  for (int i = 0; i < 1'000; ++i) let_the_server_work();
  EXPECT_EQ(rejected(), kStepsRead - 1) << "the one behind the last forget is not read";

  loop_may_go_on.set_value();

  bool is_answered = false;
  while (!is_answered) {
    const auto message = session_.Read();
    if (!message) break;
    is_answered = message->has_heartbeat_result();
  }
  EXPECT_TRUE(is_answered) << "no forget ends the session";
  EXPECT_EQ(rejected(), 2 * kStepsRead);
  sender.join();
}

TEST_F(SessionTest, CloseLeavesALeaseThatIsForgottenWhileTheStoreIsBusy) {
  Mailbox<core::Done<core::FenceAnswer>> fences;
  store().on_fence = [&](const core::FenceRequest&, auto done) { fences.Put(std::move(done)); };
  v1::SessionOpen open;
  open.set_release_on_close(true);
  session_.Open(open);
  session_.Send({AcquireOperation(1, "a", kLeaseId)});
  ASSERT_TRUE(session_.ReadResult());
  SessionCaller other(server_.NewChannel());
  other.Open();
  std::vector<v1::SessionOperation> operations(kOperationsUnderWayMax);
  for (v1::SessionOperation& operation : operations) {
    operation.mutable_fence()->set_name("b");
    operation.mutable_fence()->set_fencing_token(1);
  }
  other.Send(operations);
  std::vector<core::Done<core::FenceAnswer>> under_way;
  under_way.reserve(kOperationsUnderWayMax);
  for (size_t i = 0; i < kOperationsUnderWayMax; ++i) under_way.push_back(*fences.Take());

  session_.Send(ForgetOf("a", kLeaseId));
  session_.Close();
  session_.Heartbeat(7);
  ASSERT_TRUE(session_.Read()->has_heartbeat_result()) << "the loop has heard of all three";
  server_.loop().RunAndWait([&] {
    for (auto& done : under_way) std::move(done)(core::FenceAnswer{});
  });

  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_closed());
  EXPECT_EQ(message->closed().released(), 0);
  EXPECT_TRUE(withdrawn_.Empty());
}

TEST_F(SessionTest, LeaseIsAdopted) {
  store().on_extend = [this](const core::ExtendRequest& request, auto done) {
    core::Lease lease;
    lease.name = request.name;
    lease.lease_id = request.lease_id;
    lease.token = core::FencingToken{42};
    store().AnswerLater<core::Lease>(std::move(done), lease);
  };
  session_.Open();
  for (const int64_t token : {42, 41, 0}) {
    v1::SessionRequest request;
    request.mutable_adopt()->set_name("a");
    request.mutable_adopt()->set_lease_id(kLeaseId);
    request.mutable_adopt()->set_fencing_token(token);
    session_.Send(request);
    const auto message = session_.Read();
    ASSERT_TRUE(message && message->has_adopt_result());
    const v1::SessionAdoptResult& result = message->adopt_result();
    EXPECT_EQ(result.name(), "a");
    EXPECT_EQ(result.lease_id(), kLeaseId);
    if (token == 42) {
      EXPECT_EQ(result.lease().fencing_token(), 42);
    }
    if (token == 41) {
      EXPECT_EQ(result.error().reason(), v1::ERROR_REASON_LEASE_LOST);
    }
    if (token == 0) {
      EXPECT_EQ(result.error().reason(), v1::ERROR_REASON_INVALID_FIELD);
    }
  }
  EXPECT_THAT(server_.log().LinesWith("event=session.adopted"),
              ElementsAre(HasSubstr("lock_name=a fencing_token=42")));
  EXPECT_THAT(server_.log().LinesWith("event=session.not_adopted"),
              ElementsAre(HasSubstr("lock_name=a"), HasSubstr("lock_name=a")));
}

TEST_F(SessionTest, ExtendAndAdoptCarryTheProofOfTheLease) {
  Mailbox<core::ExtendRequest> asked;
  store().on_extend = [&](const core::ExtendRequest& request, auto done) {
    asked.Put(request);
    store().AnswerLater<core::Lease>(
        std::move(done), core::Error(core::ErrorReason::kStoreQuarantined, "it is not proved"));
  };
  session_.Open();
  v1::SessionOperation extend = ExtendOperation(5, "a", kLeaseId);
  extend.mutable_extend()->set_fencing_token(42);
  extend.mutable_extend()->set_reassertion("proof");
  session_.Send({extend});
  const auto result = session_.ReadResult();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->error().reason(), v1::ERROR_REASON_STORE_QUARANTINED);

  v1::SessionRequest request;
  request.mutable_adopt()->set_name("a");
  request.mutable_adopt()->set_lease_id(kLeaseId);
  request.mutable_adopt()->set_fencing_token(42);
  request.mutable_adopt()->set_reassertion("proof");
  session_.Send(request);
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_adopt_result());
  EXPECT_EQ(message->adopt_result().error().reason(), v1::ERROR_REASON_STORE_QUARANTINED);

  for (int i = 0; i < 2; ++i) {
    const auto seen = asked.Take();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->token, core::FencingToken{42});
    EXPECT_EQ(seen->reassertion, "proof");
  }
}

TEST_F(SessionTest, CloseAnswersEverythingAndReleases) {
  v1::SessionOpen open;
  open.set_release_on_close(true);
  session_.Open(open);
  session_.Send({AcquireOperation(1, "a", kLeaseId), AcquireOperation(2, "b", kLeaseId)});
  session_.Close();
  EXPECT_TRUE(session_.ReadResult());
  EXPECT_TRUE(session_.ReadResult());
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_closed());
  EXPECT_EQ(message->closed().released(), 2);
  EXPECT_THAT(server_.log().LinesWith("event=session.released"),
              ElementsAre(HasSubstr("leases released: 2")));
  EXPECT_FALSE(session_.Read());
  EXPECT_TRUE(session_.Finish().ok());
}

TEST_F(SessionTest, CloseReleasesNothingUnlessAsked) {
  session_.Open();
  session_.Send({AcquireOperation(1, "a", kLeaseId)});
  session_.Close();
  EXPECT_TRUE(session_.ReadResult());
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_closed());
  EXPECT_EQ(message->closed().released(), 0);
  EXPECT_TRUE(released_.Empty());
}

TEST_F(SessionTest, ClientThatHasNoMoreToSayGetsItsAnswers) {
  session_.Open();
  HoldAcquires();
  session_.Send({AcquireOperation(1, "a", kLeaseId)});
  session_.HalfClose();
  auto done = held_.Take();
  ASSERT_TRUE(done);
  server_.loop().RunAndWait([&] { std::move (*done)(AcquireOutcome(core::Contention{})); });
  EXPECT_TRUE(session_.ReadResult());
  EXPECT_FALSE(session_.Read());
  EXPECT_TRUE(session_.Finish().ok());
}

TEST_F(SessionTest, GrantAfterTheBreakIsWithdrawn) {
  session_.Open();
  HoldAcquires();
  session_.Send({AcquireOperation(1, "a", kLeaseId)});
  auto done = held_.Take();
  ASSERT_TRUE(done);
  session_.Break();
  EXPECT_FALSE(session_.Read());
  WaitForLog("outcome=cancelled");  // Then the loop has heard of it.
  core::Lease lease;
  lease.name = "a";
  server_.loop().RunAndWait([&] { std::move (*done)(AcquireOutcome(lease)); });
  EXPECT_EQ(withdrawn_.Take(), "a");
}

TEST_F(SessionTest, ClientThatDoesNotReadStillKeepsItsLeases) {
  session_.Open();
  // Their answers are far more than flow control lets through.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(session_.Send(LongAcquires()));
  session_.Send({ExtendOperation(2, "kept", kLeaseId)});
  EXPECT_EQ(extended_.Take(), "kept");
}

TEST_F(SessionTest, ClientThatNeverReadsIsRefusedAndThenCutOff) {
  session_.Open();
  const std::vector<v1::SessionOperation> operations = LongAcquires();
  const size_t most = 4 * (core::limits::kSessionOperationsMax + core::limits::kSessionRefusalsMax);
  size_t sent = 0;
  while (sent < most && session_.Send(operations)) sent += operations.size();
  EXPECT_LT(sent, most) << "memory would grow without end";
  EndReason();
  WaitForLog("does not read its results");
}

TEST_F(SessionTest, DrainingEndsASessionWithoutLeases) {
  session_.Open();
  server_.health().StartDraining();
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_draining());
  EXPECT_GT(message->draining().remaining().seconds(), 0);
  EXPECT_EQ(EndReason(), "SERVER_DRAINING");

  SessionCaller later(server_.NewChannel());
  v1::SessionRequest open;
  open.mutable_open();
  later.Send(open);
  EXPECT_FALSE(later.Read());
  EXPECT_EQ(support::ReasonOf(later.Finish()), "SERVER_DRAINING");
}

TEST_F(SessionTest, DrainingLeavesASessionWithLeasesTimeToMove) {
  session_.Open();
  session_.Send({AcquireOperation(1, "a", kLeaseId)});
  ASSERT_TRUE(session_.ReadResult());
  server_.health().StartDraining();
  const auto message = session_.Read();
  ASSERT_TRUE(message && message->has_draining());
  session_.Send({ReleaseOperation(2, "a", kLeaseId)});
  EXPECT_TRUE(session_.ReadResult()->release().released());
  EXPECT_EQ(EndReason(), "SERVER_DRAINING") << "now it has none";
}

TEST_F(SessionTest, SessionOfAnOldConnectionIsAskedToMoveAndIsServedOn) {
  support::TemporaryDirectory directory;
  ServiceDeps deps = server_.Deps();
  deps.max_connection_age = seconds(1);
  const auto aged = Server::Start({{.path = directory.Path("s")}}, deps);
  ASSERT_TRUE(aged.ok()) << aged.status();
  SessionCaller session(grpc::CreateChannel((*aged)->addresses().front().ToString(),
                                            grpc::InsecureChannelCredentials()));
  session.Open();

  const auto message = session.Read();

  ASSERT_TRUE(message && message->has_draining());
  EXPECT_FALSE(message->draining().has_remaining()) << "nobody cuts it";
  session.Send({AcquireOperation(1, "a", kLeaseId)});
  EXPECT_TRUE(session.ReadResult()->acquire().has_lease());
  session.Close();
  EXPECT_TRUE(session.Read()->has_closed());
}

TEST_F(SessionTest, SessionsOfAStoppingServerEnd) {
  session_.Open();
  HoldAcquires();
  session_.Send({AcquireOperation(1, "a", kLeaseId)});
  ASSERT_TRUE(held_.Take());
}

}  // namespace
}  // namespace lockkeeper::rpc
