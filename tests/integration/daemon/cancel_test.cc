// SPDX-License-Identifier: Apache-2.0
// A caller that goes away in the midst of its acquire leaves no lock behind, on real Redis. The
// stages inside the daemon are in unit/rpc/acquire_cancel_test.cc.
#include <grpcpp/completion_queue.h>

#include <chrono>

#include "integration/daemon/fixture.h"
#include "support/rpc/deadline.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/raw_http2.h"
#include "support/spin.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using support::LockClient;
using support::RedisServer;
using support::ReleaseOf;
using support::SetDeadline;

// Longer than the test waits for the lock to be free, so that it is not its ttl that frees it.
constexpr int kTtlSeconds = 60;
constexpr std::chrono::seconds kFreeLimit{30};

class CancelTest : public DaemonTest {
 protected:
  static v1::AcquireRequest Request(const std::string& name) {
    v1::AcquireRequest request;
    request.set_name(name);
    request.mutable_ttl()->set_seconds(kTtlSeconds);
    return request;
  }

  // Waits until somebody else can have the lock.
  bool BecomesFree(const std::string& name) {
    LockClient client(daemon_->GrpcAddress());
    const auto until = std::chrono::steady_clock::now() + kFreeLimit;
    while (std::chrono::steady_clock::now() < until) {
      const auto answer = client.Acquire(Request(name));
      if (answer.response.has_lease()) return true;
    }
    return false;
  }

  RedisServer redis_;
  std::unique_ptr<support::DaemonProcess> daemon_ = Start({"--redis", redis_.url()});
};

TEST_F(CancelTest, CallCancelledWhileTheStoreIsFrozenLeavesNoLock) {
  LockClient client(daemon_->GrpcAddress());
  redis_.Pause();
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  v1::AcquireResponse response;
  grpc::Status status;
  const auto call = client.locks().AsyncAcquire(&context, Request("n"), &queue);
  call->Finish(&response, &status, nullptr);
  ASSERT_TRUE(client.GetServerInfo().status.ok());  // On the same connection: it has arrived.

  context.TryCancel();
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(client.GetServerInfo().status.ok());  // And so has the cancellation.
  redis_.Resume();

  EXPECT_TRUE(BecomesFree("n"));
}

TEST_F(CancelTest, CallPastItsDeadlineWhileTheStoreIsFrozenLeavesNoLock) {
  redis_.Pause();
  LockClient client(daemon_->GrpcAddress(), milliseconds(100));
  const auto answer = client.Acquire(Request("n"));
  EXPECT_FALSE(answer.response.has_lease());
  redis_.Resume();

  EXPECT_TRUE(BecomesFree("n"));
}

// gRPC has the answer, and the client's window has no room for it: it has not left.
TEST_F(CancelTest, CallCancelledBeforeItsAnswerIsWrittenLeavesNoLock) {
  support::RawHttp2 caller(PortOf(*daemon_), 0);
  const uint32_t call =
      caller.Call("/lockkeeper.v1.LockService/Acquire", Request("n").SerializeAsString());
  ASSERT_TRUE(caller.Flush());
  LockClient other(daemon_->GrpcAddress());
  while (!other.GetLock("n").response.has_lock()) ASSERT_TRUE(caller.ReadFor(milliseconds(1)));

  caller.Reset(call);
  ASSERT_TRUE(caller.Flush());

  EXPECT_TRUE(BecomesFree("n"));
}

// As clients do that want to be sure: whatever became of the call, its lease id is released after
// it. At no moment of the cancellation can the acquire overtake that release.
TEST_F(CancelTest, ReleaseAfterACancelledCallFreesTheLockAtOnce) {
  LockClient client(daemon_->GrpcAddress());
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds; ++i) {
    v1::AcquireRequest request = Request("n");
    char lease_id[33];
    std::snprintf(lease_id, sizeof(lease_id), "%032x", i + 1);
    request.set_lease_id(lease_id);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    v1::AcquireResponse response;
    grpc::Status status;
    const auto call = client.locks().AsyncAcquire(&context, request, &queue);
    call->Finish(&response, &status, nullptr);
    support::SpinFor(std::chrono::microseconds(5 * i));
    context.TryCancel();
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));

    ASSERT_TRUE(client.Release(ReleaseOf("n", lease_id)).status.ok());

    const auto next = client.Acquire(Request("n"));
    ASSERT_TRUE(next.response.has_lease()) << "round " << i;
    ASSERT_TRUE(
        client.Release(ReleaseOf("n", next.response.lease().lease_id())).response.released());
  }
}

}  // namespace
}  // namespace lockkeeper
