// SPDX-License-Identifier: Apache-2.0
#include "histories/calls.h"

#include <utility>

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDeadline{1'500};
// A session that hangs is given up with its stream.
constexpr milliseconds kSessionLimit{6'000};

class Unary : public Calls {
 public:
  explicit Unary(const std::string& address) : client_(address, kDeadline) {}

  Answer<v1::AcquireResponse> Acquire(const v1::AcquireRequest& request,
                                      milliseconds deadline) override {
    return client_.WithDeadline(deadline).Acquire(request);
  }
  Answer<v1::ExtendResponse> Extend(const v1::ExtendRequest& request) override {
    return client_.Extend(request);
  }
  Answer<v1::ReleaseResponse> Release(const v1::ReleaseRequest& request) override {
    return client_.Release(request);
  }
  Answer<v1::FenceResponse> Fence(const v1::FenceRequest& request) override {
    return client_.Fence(request);
  }

 private:
  support::LockClient client_;
};

grpc::Status StatusOf(const v1::OperationError& error) {
  return {static_cast<grpc::StatusCode>(error.code()), error.message()};
}

std::string ReasonOf(v1::ErrorReason reason) {
  return v1::ErrorReason_Name(reason).substr(std::string("ERROR_REASON_").size());
}

class Session : public Calls {
 public:
  explicit Session(const std::string& address) : client_(address) {}

  Answer<v1::AcquireResponse> Acquire(const v1::AcquireRequest& request,
                                      milliseconds /*the stream's holds*/) override {
    v1::SessionOperation operation;
    *operation.mutable_acquire() = request;
    auto answer = Run<v1::AcquireResponse>(std::move(operation), &v1::SessionResult::acquire);
    if (answer.ok() && answer.response.has_lease()) leases_.insert(request.lease_id());
    return answer;
  }
  Answer<v1::ExtendResponse> Extend(const v1::ExtendRequest& request) override {
    v1::SessionOperation operation;
    *operation.mutable_extend() = request;
    return Run<v1::ExtendResponse>(std::move(operation), &v1::SessionResult::extend);
  }
  Answer<v1::ReleaseResponse> Release(const v1::ReleaseRequest& request) override {
    v1::SessionOperation operation;
    *operation.mutable_release() = request;
    return Run<v1::ReleaseResponse>(std::move(operation), &v1::SessionResult::release);
  }
  Answer<v1::FenceResponse> Fence(const v1::FenceRequest& request) override {
    v1::SessionOperation operation;
    *operation.mutable_fence() = request;
    return Run<v1::FenceResponse>(std::move(operation), &v1::SessionResult::fence);
  }

  bool IsSession() const override { return true; }
  bool KeepsByHeartbeat(const std::string& lease_id) const override {
    return leases_.contains(lease_id);
  }

  Answer<v1::SessionHeartbeatResult> Heartbeat(const std::string& lease_id) override {
    Answer<v1::SessionHeartbeatResult> answer;
    const uint64_t number = ++operations_;
    bool sent = stream_ && stream_->Heartbeat(number);
    for (bool more = true; sent && more;) {
      const auto message = Read();
      if (!message) break;
      if (!message->has_heartbeat_result() || message->heartbeat_result().number() < number) {
        continue;
      }
      answer.response = message->heartbeat_result();
      more = answer.response.more();
      for (const v1::SessionLeaseLost& lost : answer.response.not_extended()) {
        if (lost.lease_id() != lease_id) continue;
        answer.reason = ReasonOf(lost.reason());
        answer.status = {grpc::StatusCode::FAILED_PRECONDITION, "not extended"};
      }
      if (!more && answer.ok() && !KeepsByHeartbeat(lease_id)) {
        answer.reason = "LEASE_LOST";
        answer.status = {grpc::StatusCode::FAILED_PRECONDITION, "lost before"};
      }
      if (!more) return answer;
    }
    return Broken(std::move(answer));
  }

 private:
  template <typename Response>
  Answer<Response> Run(v1::SessionOperation operation,
                       const Response& (v1::SessionResult::*part)() const) {
    Answer<Response> answer;
    operation.set_id(++operations_);
    if (!Open() || !stream_->Send({operation})) return Broken(std::move(answer));
    while (const auto message = Read()) {
      if constexpr (std::is_same_v<Response, v1::AcquireResponse>) {
        if (message->has_offer() && message->offer().operation_id() == operation.id()) {
          *answer.response.mutable_lease() = message->offer().lease();
          return answer;
        }
      }
      for (const v1::SessionResult& result : message->results().results()) {
        if (result.operation_id() != operation.id()) continue;
        if (result.has_error()) {
          answer.status = StatusOf(result.error());
          answer.reason = ReasonOf(result.error().reason());
        } else {
          answer.response = (result.*part)();
        }
        return answer;
      }
    }
    return Broken(std::move(answer));
  }

  bool Open() {
    if (stream_) return true;
    leases_.clear();
    stream_.emplace(client_.channel(), kSessionLimit);
    v1::SessionRequest open;
    open.mutable_open();
    const bool opened = stream_->Send(open) && stream_->Read().has_value();
    if (!opened) stream_.reset();
    return opened;
  }

  // The next message. Forgets a lease that it says is lost.
  std::optional<v1::SessionResponse> Read() {
    auto message = stream_->Read();
    if (message && message->has_lease_lost()) leases_.erase(message->lease_lost().lease_id());
    return message;
  }

  // Nobody knows what became of the operation.
  template <typename Response>
  Answer<Response> Broken(Answer<Response> answer) {
    stream_.reset();
    leases_.clear();
    answer.status = {grpc::StatusCode::CANCELLED, "the stream has ended"};
    answer.reason.clear();
    return answer;
  }

  support::LockClient client_;
  std::optional<support::SessionCaller> stream_;
  std::set<std::string> leases_;  // Of this stream.
  uint64_t operations_ = 0;
};

}  // namespace

std::unique_ptr<Calls> UnaryCalls(const std::string& address) {
  return std::make_unique<Unary>(address);
}

std::unique_ptr<Calls> SessionCalls(const std::string& address) {
  return std::make_unique<Session>(address);
}

}  // namespace lockkeeper::histories
