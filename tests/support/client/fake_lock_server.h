// SPDX-License-Identifier: Apache-2.0
//
// A LockService in this process, with what observers ask of its AdminService, whose answers a test
// can choose: for one call or for all. By default it grants, extends and releases like a real
// service. The proof of the lease with token 7 is "proof of 7", and after two extends "proof
// of 7.2". It answers an operation of a session like the call of the same kind.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/client/fake_call.h"
#include "support/client/fake_sessions.h"
#include "support/client/fake_watches.h"

namespace lockkeeper::support {

// One rpc: the received calls, and the answers to the next ones.
template <typename Request, typename Response>
class FakeRpc {
 public:
  // Runs on gRPC's threads. May block until the call is cancelled, see
  // FakeLockServer::UntilCancelled. Lifetime: what it refers to must live until it has
  // answered; the server's destructor waits for that.
  using Handler = std::function<grpc::Status(const FakeCall&, const Request&, Response*)>;

  // Answers the next call for which no answer was chosen yet.
  void Next(Handler handler);
  void NextError(const FakeError& error);
  // Answers all calls for which no other answer was chosen. Empty: as by default.
  void Always(Handler handler);

  // The requests so far, oldest first. A call is here before its handler runs.
  std::vector<Request> seen() const;
  // Over which connections they came, in the same order.
  std::vector<std::string> peers() const;
  // The trace contexts that they carried, in the same order.
  std::vector<TraceContext> traces() const;
  // Waits until `count` calls were received; their handlers may not have ended, or begun. False
  // after a minute.
  bool WaitForCalls(size_t count) const;

 private:
  friend class FakeLockServer;
  grpc::Status Serve(const FakeCall& call, const Request& request, Response* response,
                     const Handler& honest);

  mutable std::mutex mutex_;
  mutable std::condition_variable came_;
  std::deque<Handler> next_;
  Handler always_;
  std::vector<Request> seen_;
  std::vector<std::string> peers_;
  std::vector<TraceContext> traces_;
};

// Thread-safety: thread-safe, but for destroying.
class FakeLockServer {
 public:
  // kUnimplemented: as a server of an older version.
  enum class Sessions { kServed, kUnimplemented };

  // Serves at once; on a unix socket if `socket_path` is given, else on a free port of 127.0.0.1.
  explicit FakeLockServer(const std::string& socket_path = "", Sessions served = Sessions::kServed);
  // Cancels the calls in flight.
  ~FakeLockServer();

  // For ClientOptions::addresses.
  const std::string& address() const { return address_; }

  // Blocks until the caller has cancelled, its deadline has passed, its session has ended, or the
  // server ends.
  void UntilCancelled(const FakeCall& call) const;

  // The default behaviour, for handlers that only change the answer.
  grpc::Status HonestAcquire(const v1::AcquireRequest& request, v1::AcquireResponse* response);
  grpc::Status HonestExtend(const v1::ExtendRequest& request, v1::ExtendResponse* response);
  grpc::Status HonestRelease(const v1::ReleaseRequest& request, v1::ReleaseResponse* response);

  grpc::Status HonestGetLock(const admin::v1::GetLockRequest& request,
                             admin::v1::GetLockResponse* response);

  // Lease id that has `name`. Empty if none has.
  std::string HolderOf(const std::string& name) const;
  // Gives the lock to somebody else, so that the client's lease is lost.
  void Steal(const std::string& name);

  FakeRpc<v1::AcquireRequest, v1::AcquireResponse> acquire;
  FakeRpc<v1::ExtendRequest, v1::ExtendResponse> extend;
  FakeRpc<v1::ReleaseRequest, v1::ReleaseResponse> release;
  FakeRpc<v1::FenceRequest, v1::FenceResponse> fence;
  FakeSessions sessions;
  FakeRpc<admin::v1::GetLockRequest, admin::v1::GetLockResponse> get_lock;
  FakeWatches watches;

 private:
  class Service;
  class AdminService;
  struct Held {
    std::string lease_id;
    std::string owner;
    int64_t token = 0;
    google::protobuf::Duration ttl;
    int extends = 0;
  };
  void Fill(const std::string& name, const Held& held, v1::Lease* lease) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable ending_changed_;
  std::map<std::string, Held> locks_;  // Guarded by mutex_, as all below.
  int64_t last_token_ = 0;
  bool ending_ = false;

  std::unique_ptr<Service> service_;
  std::unique_ptr<AdminService> admin_service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

template <typename Request, typename Response>
void FakeRpc<Request, Response>::Next(Handler handler) {
  const std::lock_guard lock(mutex_);
  next_.push_back(std::move(handler));
}

template <typename Request, typename Response>
void FakeRpc<Request, Response>::NextError(const FakeError& error) {
  Next([error](const FakeCall&, const Request&, Response*) { return StatusOf(error); });
}

template <typename Request, typename Response>
void FakeRpc<Request, Response>::Always(Handler handler) {
  const std::lock_guard lock(mutex_);
  always_ = std::move(handler);
}

template <typename Request, typename Response>
std::vector<Request> FakeRpc<Request, Response>::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

template <typename Request, typename Response>
std::vector<std::string> FakeRpc<Request, Response>::peers() const {
  const std::lock_guard lock(mutex_);
  return peers_;
}

template <typename Request, typename Response>
std::vector<TraceContext> FakeRpc<Request, Response>::traces() const {
  const std::lock_guard lock(mutex_);
  return traces_;
}

template <typename Request, typename Response>
bool FakeRpc<Request, Response>::WaitForCalls(size_t count) const {
  std::unique_lock lock(mutex_);
  return came_.wait_for(lock, std::chrono::minutes(1), [&] { return seen_.size() >= count; });
}

template <typename Request, typename Response>
grpc::Status FakeRpc<Request, Response>::Serve(const FakeCall& call, const Request& request,
                                               Response* response, const Handler& honest) {
  Handler handler = honest;
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(request);
    peers_.push_back(call.context.peer());
    traces_.push_back(call.trace);
    came_.notify_all();
    if (!next_.empty()) {
      handler = std::move(next_.front());
      next_.pop_front();
    } else if (always_) {
      handler = always_;
    }
  }
  return handler(call, request, response);
}

}  // namespace lockkeeper::support
