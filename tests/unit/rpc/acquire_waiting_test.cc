// SPDX-License-Identifier: Apache-2.0
//
// A call that waits for its turn: how it is answered, and that it leaves the line when its caller
// leaves it. The line itself is in core/line_test.cc.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/mailbox.h"
#include "support/rpc/deadline.h"
#include "support/rpc/error_reason.h"
#include "support/rpc/in_process_server.h"
#include "support/spin.h"

namespace lockkeeper::rpc {
namespace {

using core::AcquireOutcome;
using core::WithdrawResult;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::Mailbox;
using testing::HasSubstr;

constexpr core::Waiting kSecondInLine{.number = 7, .position = 2, .free_in = seconds(30)};

struct Joining {
  core::AcquireRequest request;
  core::Done<AcquireOutcome> done;
};

class AcquireWaitingTest : public testing::Test {
 protected:
  AcquireWaitingTest()
      : channel_(server_.NewChannel()),
        stub_(v1::LockService::NewStub(channel_)),
        admin_(admin::v1::AdminService::NewStub(channel_)) {
    store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
      joining_.Put({request, std::move(done)});
    };
    store().on_withdraw = [this](const core::WithdrawRequest& request, auto done) {
      left_.Put(request);
      store().AnswerLater<WithdrawResult>(std::move(done), WithdrawResult::kNotGranted);
    };
    store().on_poll = [this](const core::PollRequest&, auto done) {
      store().AnswerLater<core::PollAnswer>(std::move(done),
                                            core::PollAnswer{.free_in = seconds(30), .waiters = 2});
    };
  }

  support::ScriptedStore& store() { return server_.store(); }

  static v1::AcquireRequest Request() {
    v1::AcquireRequest request;
    request.set_name("n");
    request.set_attempt(3);
    request.mutable_wait_timeout()->set_seconds(600);
    return request;
  }

  void Start(grpc::ClientContext& context, const v1::AcquireRequest& request = Request()) {
    call_ = stub_->AsyncAcquire(&context, request, &queue_);
    call_->Finish(&response_, &status_, this);
  }

  // Waits until the client has its status.
  grpc::StatusCode Finish() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
    return status_.error_code();
  }

  // Starts a call and waits until it stands in line. What it asked of the store.
  core::AcquireRequest StartAndWaitInLine(grpc::ClientContext& context,
                                          const v1::AcquireRequest& request = Request()) {
    Start(context, request);
    auto joining = joining_.Take();
    if (!joining) throw std::runtime_error("the store was not asked");
    server_.loop().RunAndWait([&] { std::move(joining->done)(AcquireOutcome(kSecondInLine)); });
    return joining->request;
  }

  // Waits until the server has heard all that the client sent: on one connection it hears a
  // cancellation before a later call.
  void WaitForServerToHear() {
    grpc::ClientContext context;
    admin::v1::GetServerInfoResponse response;
    ASSERT_TRUE(admin_->GetServerInfo(&context, {}, &response).ok());
  }

  void Offer(const core::AcquireRequest& to) {
    server_.loop().RunAndWait([&] {
      store().listener->OnOffer({.name = to.name,
                                 .lease_id = to.lease_id,
                                 .token = {8},
                                 .remaining = seconds(1),
                                 .ttl = to.ttl,
                                 .attempt = to.attempt,
                                 .keeper = to.keeper});
    });
  }

  void ExpectLeft(const core::AcquireRequest& request) {
    const auto left = left_.Take();
    ASSERT_TRUE(left);
    EXPECT_EQ(left->name, request.name);
    EXPECT_EQ(left->lease_id, request.lease_id);
    EXPECT_EQ(left->attempt, 3);
    EXPECT_EQ(left->keeper, request.keeper);
  }

  // Waits until no call is in flight any more.
  void EndServer() {
    server_.server().Shutdown(core::Millis(20'000));
    EXPECT_EQ(server_.Outstanding(), 0u);
  }

  // Before the server, whose loop goes on putting into them until it ends.
  Mailbox<Joining> joining_;
  Mailbox<core::WithdrawRequest> left_;
  support::InProcessServer server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::LockService::Stub> stub_;
  std::unique_ptr<admin::v1::AdminService::Stub> admin_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::AcquireResponse>> call_;
  v1::AcquireResponse response_;
  grpc::Status status_;
};

TEST_F(AcquireWaitingTest, CallerThatLeavesGivesItsPlaceUp) {
  grpc::ClientContext context;
  const core::AcquireRequest request = StartAndWaitInLine(context);

  context.TryCancel();

  EXPECT_EQ(Finish(), grpc::StatusCode::CANCELLED);
  ExpectLeft(request);
  EndServer();
  const std::string metrics = server_.metrics().Expose();
  EXPECT_THAT(metrics, HasSubstr("code=\"CANCELLED\",outcome=\"cancelled\",rpc=\"Acquire\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("lockkeeper_wait_seconds_count{end=\"caller_left\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("\nlockkeeper_waiters 0\n"));
  EXPECT_THAT(server_.log().LinesWith("rpc.answered"),
              testing::Contains(HasSubstr("outcome=cancelled code=CANCELLED")));
}

TEST_F(AcquireWaitingTest, CallerThatLeavesOnTheWayToTheLineDoesNotStayInIt) {
  grpc::ClientContext context;
  Start(context);
  auto joining = joining_.Take();
  ASSERT_TRUE(joining);
  context.TryCancel();
  EXPECT_EQ(Finish(), grpc::StatusCode::CANCELLED);
  WaitForServerToHear();

  server_.loop().RunAndWait([&] { std::move(joining->done)(AcquireOutcome(kSecondInLine)); });

  ExpectLeft(joining->request);
  EndServer();
}

TEST_F(AcquireWaitingTest, ConnectionThatBreaksGivesThePlaceUp) {
  grpc::ClientContext context;
  const core::AcquireRequest request = StartAndWaitInLine(context);

  // All that holds the connection goes, as with a client that dies.
  call_.reset();
  context.TryCancel();
  Finish();
  stub_.reset();
  admin_.reset();
  channel_.reset();

  ExpectLeft(request);
}

// The margin that the daemon keeps is a fraction of a second: a machine that stands still for
// longer makes the answer late, so the test tries again.
TEST_F(AcquireWaitingTest, DeadlineShorterThanTheWaitGetsADefiniteAnswer) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    grpc::ClientContext context;
    support::SetDeadline(context, seconds(2));
    const core::AcquireRequest request = StartAndWaitInLine(context);
    const grpc::StatusCode code = Finish();
    ExpectLeft(request);
    if (code == grpc::StatusCode::DEADLINE_EXCEEDED) continue;

    EXPECT_EQ(code, grpc::StatusCode::OK);
    EXPECT_EQ(response_.contention().reason(), v1::CONTENTION_REASON_WAIT_TIMED_OUT);
    EXPECT_EQ(response_.contention().position(), 2);
    return;
  }
  FAIL() << "no answer came before its deadline";
}

TEST_F(AcquireWaitingTest, OfferIsClaimedByTheDaemonUnlessTheClientDoes) {
  store().on_extend = [this](const core::ExtendRequest& request, auto done) {
    store().AnswerLater<core::Lease>(
        std::move(done),
        core::Lease{.name = request.name, .lease_id = request.lease_id, .token = {8}});
  };
  grpc::ClientContext context;
  const core::AcquireRequest request = StartAndWaitInLine(context);

  Offer(request);

  ASSERT_EQ(Finish(), grpc::StatusCode::OK);
  EXPECT_EQ(response_.lease().fencing_token(), 8);
  EXPECT_FALSE(response_.lease().offered());
  EXPECT_GT(response_.lease().waited().seconds() + response_.lease().waited().nanos(), 0);
  EXPECT_THAT(server_.log().LinesWith("rpc.answered"), testing::Contains(HasSubstr(" wait_ms=")));
  EndServer();
  EXPECT_TRUE(left_.Empty());
}

TEST_F(AcquireWaitingTest, ClientThatConfirmsGetsTheOffer) {
  v1::AcquireRequest asked = Request();
  asked.set_confirm(true);
  grpc::ClientContext context;
  const core::AcquireRequest request = StartAndWaitInLine(context, asked);

  Offer(request);

  ASSERT_EQ(Finish(), grpc::StatusCode::OK);
  EXPECT_EQ(response_.lease().fencing_token(), 8);
  EXPECT_TRUE(response_.lease().offered());
  EXPECT_EQ(response_.lease().remaining_ttl().seconds(), 1);
  EndServer();
  EXPECT_TRUE(left_.Empty());
}

TEST_F(AcquireWaitingTest, OfferToACallerThatHasLeftIsTakenBack) {
  std::optional<core::Done<WithdrawResult>> leaving;
  store().on_withdraw = [&](const core::WithdrawRequest& request, auto done) {
    left_.Put(request);
    leaving = std::move(done);
  };
  v1::AcquireRequest asked = Request();
  asked.set_confirm(true);
  grpc::ClientContext context;
  const core::AcquireRequest request = StartAndWaitInLine(context, asked);
  context.TryCancel();
  EXPECT_EQ(Finish(), grpc::StatusCode::CANCELLED);
  ExpectLeft(request);

  // It comes while the place is being taken back: that takes the offer back as well.
  Offer(request);
  server_.loop().RunAndWait([&] { (*std::move(leaving))(WithdrawResult::kWithdrawn); });

  EndServer();
}

TEST_F(AcquireWaitingTest, DrainAnswersWaitersAndDoesNotWaitForThem) {
  grpc::ClientContext context;
  StartAndWaitInLine(context);

  server_.loop().RunAndWait([&] { server_.locks().StartDraining(); });

  EXPECT_EQ(Finish(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(support::ReasonOf(status_), "SERVER_DRAINING");
  EndServer();
  EXPECT_TRUE(left_.Empty()) << "the place is kept";
}

// Whichever wins the race: a caller that left has no lease and no place, and one that has a lease
// keeps it.
TEST_F(AcquireWaitingTest, OfferThatRacesWithTheCancellationIsNotBothDeliveredAndTakenBack) {
  v1::AcquireRequest asked = Request();
  asked.set_confirm(true);
  constexpr int kRounds = 200;
  std::set<std::string> delivered;
  for (int i = 0; i < kRounds; ++i) {
    grpc::ClientContext context;
    const core::AcquireRequest request = StartAndWaitInLine(context, asked);
    std::thread offers([&] { Offer(request); });
    support::SpinFor(std::chrono::microseconds(2 * i));
    context.TryCancel();
    if (Finish() == grpc::StatusCode::OK) delivered.insert(response_.lease().lease_id());
    offers.join();
  }

  EndServer();
  while (!left_.Empty()) {
    EXPECT_EQ(delivered.count(std::string(left_.Take()->lease_id.digits())), 0u);
  }
}

}  // namespace
}  // namespace lockkeeper::rpc
