// SPDX-License-Identifier: Apache-2.0
//
// What the tests of waiting share: one real Redis, daemons before it, and calls that wait.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/rpc/deadline.h"
#include "support/rpc/error_reason.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {

using std::chrono::milliseconds;
using std::chrono::seconds;

// For what happens at once on an idle machine.
inline constexpr seconds kPatience{30};

// One acquire that may take long.
class WaitingCall {
 public:
  WaitingCall(support::LockClient& client, const v1::AcquireRequest& request,
              milliseconds deadline = std::chrono::minutes(2)) {
    support::SetDeadline(context_, deadline);
    call_ = client.locks().AsyncAcquire(&context_, request, &queue_);
    call_->Finish(&response_, &status_, this);
  }
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;
  ~WaitingCall() {
    context_.TryCancel();
    WaitForAnswer();
  }

  void Cancel() { context_.TryCancel(); }

  // Whether it has been answered by now.
  bool IsAnswered() {
    if (!answered_) answered_ = Next(std::chrono::system_clock::now());
    return answered_;
  }

  // The answer, and the status it came with; fails the test if none comes.
  const v1::AcquireResponse& response() {
    WaitForAnswer();
    return response_;
  }
  const v1::Lease& lease() { return response().lease(); }
  const grpc::Status& status() {
    WaitForAnswer();
    return status_;
  }
  // Of an error, "OK" if there is none.
  std::string reason() { return status().ok() ? "OK" : support::ReasonOf(status_); }

 private:
  bool Next(std::chrono::system_clock::time_point until) {
    void* tag = nullptr;
    bool ok = false;
    return queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT;
  }

  void WaitForAnswer() {
    if (!answered_) answered_ = Next(std::chrono::system_clock::now() + kPatience);
    EXPECT_TRUE(answered_) << "no answer";
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::AcquireResponse>> call_;
  v1::AcquireResponse response_;
  grpc::Status status_;
  bool answered_ = false;
};

class WaitingTest : public testing::Test {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // A daemon and a connection to it. `settings` are variables of its environment; at `socket`, a
  // path, it listens too.
  struct Replica {
    explicit Replica(const support::RedisServer& redis, const Settings& settings = {},
                     const std::string& socket = "")
        : daemon({.program = LOCKKEEPERD_PROGRAM,
                  .arguments = Arguments(redis, socket),
                  .environment = settings}) {
      daemon.WaitUntilReady();
      client = std::make_unique<support::LockClient>(daemon.GrpcAddress(), kPatience);
    }

    static std::vector<std::string> Arguments(const support::RedisServer& redis,
                                              const std::string& socket) {
      std::vector<std::string> arguments = {"--redis",     redis.unix_url(), "--listen",
                                            "127.0.0.1:0", "--http-listen",  "127.0.0.1:0"};
      if (!socket.empty()) arguments.insert(arguments.end(), {"--listen", "unix:" + socket});
      return arguments;
    }

    support::DaemonProcess daemon;
    std::unique_ptr<support::LockClient> client;
  };

  // Number of a lease in the test, as a lease id.
  static std::string Id(int number) {
    char digits[33];
    std::snprintf(digits, sizeof(digits), "%032x", number);
    return digits;
  }

  static v1::AcquireRequest Request(const std::string& name, int lease_number) {
    v1::AcquireRequest request;
    request.set_name(name);
    request.set_lease_id(Id(lease_number));
    request.set_attempt(1);
    request.set_owner("waiting test");
    request.mutable_ttl()->set_seconds(60);
    request.mutable_wait_timeout()->set_seconds(120);
    return request;
  }

  // Takes a lock that is free.
  static void Hold(Replica& at, const std::string& name, int lease_number) {
    const auto held = at.client->Acquire(Request(name, lease_number));
    ASSERT_TRUE(held.response.has_lease()) << held.status.error_message();
  }

  static void Release(Replica& at, const std::string& name, int lease_number) {
    const auto released = at.client->Release(support::ReleaseOf(name, Id(lease_number)));
    ASSERT_TRUE(released.response.released()) << released.status.error_message();
  }

  // Starts an acquire of "n" as number `place` in the line, and waits until it stands there.
  std::unique_ptr<WaitingCall> StandInLine(Replica& at, int lease_number, int place) {
    auto call = std::make_unique<WaitingCall>(*at.client, Request("n", lease_number));
    EXPECT_TRUE(WaitForWaiters(at, place)) << "waiter " << lease_number;
    return call;
  }

  // Waits until "n" has so many waiters. False if it does not get there.
  static bool WaitForWaiters(Replica& at, int count) {
    return Eventually([&] { return at.client->GetLock("n").response.lock().waiters() == count; });
  }

  template <typename Condition>
  static bool Eventually(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
      if (condition()) return true;
    }
    return false;
  }

  bool LineIsGone() const { return redis_.Run({"EXISTS", "lk:{n}:line"}).integer == 0; }

  static admin::v1::ForceReleaseResponse ForceRelease(Replica& at, bool now) {
    const auto stub = admin::v1::AdminService::NewStub(at.client->channel());
    grpc::ClientContext context;
    support::SetDeadline(context, kPatience);
    admin::v1::ForceReleaseRequest request;
    request.set_name("n");
    request.set_reason("test");
    request.set_now(now);
    admin::v1::ForceReleaseResponse response;
    EXPECT_TRUE(stub->ForceRelease(&context, request, &response).ok());
    return response;
  }

  support::RedisServer redis_;
};

}  // namespace lockkeeper
