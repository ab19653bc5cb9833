// SPDX-License-Identifier: Apache-2.0
//
// A caller that leaves, at each stage of its acquire, leaves no lock behind: what was granted to it
// is withdrawn by the keeper of that very call, and nothing else is.
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/mailbox.h"
#include "support/rpc/deadline.h"
#include "support/rpc/in_process_server.h"
#include "support/spin.h"

namespace lockkeeper::rpc {
namespace {

using core::AcquireOutcome;
using std::chrono::seconds;
using support::Mailbox;

struct Pending {
  core::AcquireRequest request;
  core::Done<AcquireOutcome> done;
};

class AcquireCancelTest : public testing::Test {
 protected:
  AcquireCancelTest()
      : channel_(server_.NewChannel()),
        stub_(v1::LockService::NewStub(channel_)),
        admin_(admin::v1::AdminService::NewStub(channel_)) {
    server_.store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
      pending_.Put({request, std::move(done)});
    };
    server_.store().on_withdraw = [this](const core::WithdrawRequest& request, auto done) {
      withdrawn_.Put(request);
      server_.store().AnswerLater<core::WithdrawResult>(std::move(done),
                                                        core::WithdrawResult::kWithdrawn);
    };
  }

  void Start(grpc::ClientContext& context) {
    v1::AcquireRequest request;
    request.set_name("n");
    request.set_attempt(3);
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

  // Waits until the server has heard all that the client sent: on one connection it hears a
  // cancellation before a later call.
  void WaitForServerToHear() {
    grpc::ClientContext context;
    admin::v1::GetServerInfoResponse response;
    ASSERT_TRUE(admin_->GetServerInfo(&context, {}, &response).ok());
  }

  void Answer(Pending pending, absl::StatusOr<AcquireOutcome> answer) {
    server_.loop().RunAndWait([&] { std::move(pending.done)(std::move(answer)); });
  }

  static AcquireOutcome GrantFor(const core::AcquireRequest& request) {
    return core::Lease{.name = request.name,
                       .lease_id = request.lease_id,
                       .token = {7},
                       .ttl = request.ttl,
                       .remaining_ttl = request.ttl};
  }

  // Waits until no call is in flight any more.
  void EndServer() { server_.server().Shutdown(core::Millis(20'000)); }

  // Before the server, whose loop goes on putting into them until it ends.
  Mailbox<Pending> pending_;
  Mailbox<core::WithdrawRequest> withdrawn_;
  support::InProcessServer server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::LockService::Stub> stub_;
  std::unique_ptr<admin::v1::AdminService::Stub> admin_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::AcquireResponse>> call_;
  v1::AcquireResponse response_;
  grpc::Status status_;
};

TEST_F(AcquireCancelTest, GrantThatComesAfterTheCallerLeftIsWithdrawn) {
  grpc::ClientContext context;
  Start(context);
  auto pending = pending_.Take();
  ASSERT_TRUE(pending);
  const core::AcquireRequest request = pending->request;
  context.TryCancel();
  EXPECT_EQ(Finish(), grpc::StatusCode::CANCELLED);
  WaitForServerToHear();

  Answer(std::move(*pending), GrantFor(request));

  const auto withdrawal = withdrawn_.Take();
  ASSERT_TRUE(withdrawal);
  EXPECT_EQ(withdrawal->name, "n");
  EXPECT_EQ(withdrawal->lease_id, request.lease_id);
  EXPECT_EQ(withdrawal->attempt, 3);
  EXPECT_EQ(withdrawal->keeper, request.keeper);
}

TEST_F(AcquireCancelTest, GrantThatComesAfterTheDeadlineIsWithdrawn) {
  // Long enough for the call to reach the store on a busy machine.
  constexpr std::chrono::milliseconds kDeadline{1'000};
  grpc::ClientContext context;
  support::SetDeadline(context, kDeadline);
  Start(context);
  auto pending = pending_.Take();
  ASSERT_TRUE(pending);
  const core::AcquireRequest request = pending->request;

  // Both sides round the deadline up by milliseconds.
  constexpr std::chrono::milliseconds kAfterwards = 2 * kDeadline;
  std::unique_ptr<core::Timer> timer;
  server_.loop().RunAndWait([&] {
    timer = server_.loop().After(kAfterwards, [&, done = std::move(pending->done)]() mutable {
      std::move(done)(GrantFor(request));
    });
  });

  EXPECT_EQ(Finish(), grpc::StatusCode::DEADLINE_EXCEEDED);
  const auto withdrawal = withdrawn_.Take();
  ASSERT_TRUE(withdrawal);
  EXPECT_EQ(withdrawal->keeper, request.keeper);
}

TEST_F(AcquireCancelTest, ContentionAfterTheCallerLeftNeedsNoWithdrawal) {
  grpc::ClientContext context;
  Start(context);
  auto pending = pending_.Take();
  ASSERT_TRUE(pending);
  context.TryCancel();
  EXPECT_EQ(Finish(), grpc::StatusCode::CANCELLED);
  WaitForServerToHear();

  Answer(std::move(*pending), AcquireOutcome(core::Contention{}));

  EndServer();
  EXPECT_EQ(server_.Outstanding(), 0u);
  EXPECT_TRUE(withdrawn_.Empty());
}

TEST_F(AcquireCancelTest, DeliveredGrantIsNotWithdrawn) {
  grpc::ClientContext context;
  Start(context);
  auto pending = pending_.Take();
  ASSERT_TRUE(pending);
  const core::AcquireRequest request = pending->request;

  Answer(std::move(*pending), GrantFor(request));

  EXPECT_EQ(Finish(), grpc::StatusCode::OK);
  EXPECT_TRUE(response_.has_lease());
  EndServer();
  EXPECT_EQ(server_.Outstanding(), 0u);
  EXPECT_TRUE(withdrawn_.Empty());
}

TEST_F(AcquireCancelTest, CallCancelledByTheEndOfTheServerIsWithdrawn) {
  grpc::ClientContext context;
  Start(context);
  auto pending = pending_.Take();
  ASSERT_TRUE(pending);
  const core::AcquireRequest request = pending->request;
  // The loop's thread answers once the client has heard that it is cancelled.
  std::optional<grpc::StatusCode> heard;
  server_.loop().Post([&, pending = std::move(*pending)]() mutable {
    heard = Finish();
    std::move(pending.done)(GrantFor(request));
  });

  server_.server().Shutdown(core::Millis(0));

  EXPECT_EQ(heard, grpc::StatusCode::UNAVAILABLE);
  const auto withdrawal = withdrawn_.Take();
  ASSERT_TRUE(withdrawal);
  EXPECT_EQ(withdrawal->keeper, request.keeper);
}

// Whichever wins the race between the answer and the cancellation: a grant of which the client has
// heard is never withdrawn. (The other way round there is a gap, which the lease id closes: gRPC
// may have sent a grant that the client, cancelling, did not look at any more.)
TEST_F(AcquireCancelTest, GrantThatRacesWithTheCancellationIsNotBothDeliveredAndWithdrawn) {
  server_.store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
    server_.store().AnswerLater<AcquireOutcome>(std::move(done), GrantFor(request));
  };
  constexpr int kRounds = 300;
  std::set<std::string> delivered;
  for (int i = 0; i < kRounds; ++i) {
    grpc::ClientContext context;
    Start(context);
    support::SpinFor(std::chrono::microseconds(2 * i));
    context.TryCancel();
    if (Finish() == grpc::StatusCode::OK) delivered.insert(response_.lease().lease_id());
  }

  EndServer();
  while (server_.Outstanding() > 0) std::this_thread::yield();  // Withdrawals take their time.
  while (!withdrawn_.Empty()) {
    EXPECT_EQ(delivered.count(std::string(withdrawn_.Take()->lease_id.digits())), 0u);
  }
}

}  // namespace
}  // namespace lockkeeper::rpc
