// SPDX-License-Identifier: Apache-2.0
#include "support/client/fake_sessions.h"

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lockkeeper/error.h"
#include "transport/status_details.h"

namespace lockkeeper::support {
namespace {

v1::OperationError ErrorOf(const grpc::Status& status) {
  const absl::Status read = client::StatusFromGrpc(status);
  v1::OperationError error;
  error.set_code(static_cast<int>(status.error_code()));
  error.set_message(status.error_message());
  v1::ErrorReason reason{};
  if (v1::ErrorReason_Parse("ERROR_REASON_" + ReasonNameOf(read), &reason)) {
    error.set_reason(reason);
  }
  if (const auto field = FieldOf(read)) (*error.mutable_metadata())["field"] = *field;
  if (const auto delay = RetryDelayOf(read)) {
    error.mutable_retry_delay()->set_seconds(delay->count() / 1000);
    error.mutable_retry_delay()->set_nanos(static_cast<int32_t>(delay->count() % 1000 * 1'000'000));
  }
  return error;
}

}  // namespace

// Thread-safety: thread-safe.
class FakeSessions::One {
 public:
  One(grpc::ServerContext& context, Stream& stream, const Answer& answer)
      : context_(context), stream_(stream), answer_(answer) {}

  void Opened() {
    v1::SessionResponse response;
    response.mutable_opened()->set_max_outstanding_operations(1'000);
    Write(response);
  }

  void Drain() {
    v1::SessionResponse response;
    response.mutable_draining()->mutable_remaining()->set_seconds(10);
    Write(response);
  }

  void Cut() { context_.TryCancel(); }

  void ReadAll() {
    v1::SessionRequest request;
    while (stream_.Read(&request)) {
      if (request.has_cancel()) Cancelled(request.cancel().operation_id()) = true;
      if (request.has_forget()) Forget(request.forget().lease_id());
      if (request.has_adopt()) {
        running_.emplace_back([this, adopt = request.adopt()] { Adopt(adopt); });
      }
      if (request.has_heartbeat()) {
        running_.emplace_back([this, number = request.heartbeat().number()] { Beat(number); });
      }
      for (const v1::SessionOperation& operation : request.batch().operations()) {
        std::atomic<bool>& cancelled = Cancelled(operation.id());
        running_.emplace_back([this, operation, &cancelled] { Run(operation, cancelled); });
      }
    }
    {
      const std::lock_guard lock(mutex_);
      for (auto& [id, cancelled] : cancelled_) cancelled = true;
    }
    running_.clear();
  }

 private:
  std::atomic<bool>& Cancelled(uint64_t id) {
    const std::lock_guard lock(mutex_);
    return cancelled_[id];
  }

  void Run(const v1::SessionOperation& operation, const std::atomic<bool>& cancelled) {
    v1::SessionResult result;
    const grpc::Status status =
        answer_(FakeCall{context_, &cancelled, {operation.traceparent(), operation.tracestate()}},
                operation, &result);
    if (!status.ok()) *result.mutable_error() = ErrorOf(status);
    if (operation.has_release()) Forget(operation.release().lease_id());
    if (result.acquire().has_lease() && !result.acquire().lease().offered()) {
      Keep(result.acquire().lease());
    }
    v1::SessionResponse response;
    if (result.acquire().lease().offered()) {
      response.mutable_offer()->set_operation_id(operation.id());
      *response.mutable_offer()->mutable_lease() = result.acquire().lease();
    } else {
      result.set_operation_id(operation.id());
      *response.mutable_results()->add_results() = result;
    }
    Write(response);
  }

  // An extend, as the session itself sends it.
  grpc::Status Extend(const v1::ExtendRequest& request, v1::SessionResult& result) {
    v1::SessionOperation operation;
    *operation.mutable_extend() = request;
    return answer_(FakeCall{context_, &never_}, operation, &result);
  }

  void Adopt(const v1::SessionAdopt& adopt) {
    v1::ExtendRequest request;
    request.set_name(adopt.name());
    request.set_lease_id(adopt.lease_id());
    request.set_fencing_token(adopt.fencing_token());
    request.set_reassertion(adopt.reassertion());
    v1::SessionResult result;
    const grpc::Status status = Extend(request, result);
    v1::SessionResponse response;
    v1::SessionAdoptResult& adopted = *response.mutable_adopt_result();
    adopted.set_name(adopt.name());
    adopted.set_lease_id(adopt.lease_id());
    if (status.ok()) {
      Keep(result.extend().lease());
      *adopted.mutable_lease() = result.extend().lease();
    } else {
      *adopted.mutable_error() = ErrorOf(status);
    }
    Write(response);
  }

  void Beat(uint64_t number) {
    v1::SessionResponse response;
    v1::SessionHeartbeatResult& beaten = *response.mutable_heartbeat_result();
    beaten.set_number(number);
    for (const v1::Lease& lease : Kept()) {
      v1::ExtendRequest request;
      request.set_name(lease.name());
      request.set_lease_id(lease.lease_id());
      v1::SessionResult result;
      const grpc::Status status = Extend(request, result);
      if (status.ok()) {
        (*beaten.mutable_reassertions())[lease.lease_id()] = result.extend().lease().reassertion();
      } else {
        v1::SessionLeaseLost& lost = *beaten.add_not_extended();
        lost.set_name(lease.name());
        lost.set_lease_id(lease.lease_id());
        lost.set_reason(ErrorOf(status).reason());
      }
    }
    Write(response);
  }

  void Keep(const v1::Lease& lease) {
    const std::lock_guard lock(mutex_);
    kept_[lease.lease_id()] = lease;
  }
  void Forget(const std::string& lease_id) {
    const std::lock_guard lock(mutex_);
    kept_.erase(lease_id);
  }
  std::vector<v1::Lease> Kept() {
    const std::lock_guard lock(mutex_);
    std::vector<v1::Lease> leases;
    leases.reserve(kept_.size());
    for (const auto& [id, lease] : kept_) leases.push_back(lease);
    return leases;
  }

  void Write(const v1::SessionResponse& response) {
    const std::lock_guard lock(mutex_);
    stream_.Write(response);
  }

  grpc::ServerContext& context_;
  Stream& stream_;
  const Answer& answer_;
  std::mutex mutex_;  // Guards writing, and
  std::map<uint64_t, std::atomic<bool>> cancelled_;
  std::map<std::string, v1::Lease> kept_;
  const std::atomic<bool> never_ = false;
  std::list<std::jthread> running_;  // Of the thread that reads.
};

grpc::Status FakeSessions::Serve(grpc::ServerContext& context, Stream& stream,
                                 const Answer& answer) {
  v1::SessionRequest open;
  if (!stream.Read(&open) || !open.has_open()) return grpc::Status::CANCELLED;
  One session(context, stream, answer);
  {
    const std::lock_guard lock(mutex_);
    open_.insert(&session);
    ++opened_;
    session.Opened();
    if (cut_all_) session.Cut();
    changed_.notify_all();
  }
  session.ReadAll();
  const std::lock_guard lock(mutex_);
  open_.erase(&session);
  changed_.notify_all();
  return grpc::Status::OK;
}

void FakeSessions::Cut() {
  const std::lock_guard lock(mutex_);
  for (One* session : open_) session->Cut();
}

void FakeSessions::CutAll() {
  const std::lock_guard lock(mutex_);
  cut_all_ = true;
}

void FakeSessions::Drain() {
  const std::lock_guard lock(mutex_);
  for (One* session : open_) session->Drain();
}

size_t FakeSessions::opened() const {
  const std::lock_guard lock(mutex_);
  return opened_;
}

size_t FakeSessions::open() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

bool FakeSessions::WaitForOpened(size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return opened_ >= count; });
}

bool FakeSessions::WaitForOpen(size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return open_.size() == count; });
}

}  // namespace lockkeeper::support
