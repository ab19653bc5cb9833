// SPDX-License-Identifier: Apache-2.0
#include "support/client/fake_lock_server.h"

#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <stdexcept>
#include <utility>

namespace lockkeeper::support {
namespace {

using google::protobuf::UnknownFieldSet;

std::string Bytes(const UnknownFieldSet& fields) {
  std::string bytes;
  fields.SerializeToString(&bytes);
  return bytes;
}

void AddDetail(const std::string& type, const UnknownFieldSet& value, UnknownFieldSet& status) {
  UnknownFieldSet any;
  any.AddLengthDelimited(1, "type.googleapis.com/google.rpc." + type);
  any.AddLengthDelimited(2, Bytes(value));
  status.AddLengthDelimited(3, Bytes(any));
}

// All values that the caller has sent by this name: more than one are a mistake.
std::string MetadataOf(const grpc::ServerContext& context, const std::string& name) {
  std::string values;
  const auto [begin, end] = context.client_metadata().equal_range(name);
  for (auto each = begin; each != end; ++each) {
    values.append(each->second.data(), each->second.size());
  }
  return values;
}

FakeCall UnaryCall(grpc::ServerContext& context) {
  return {
      context, nullptr, {MetadataOf(context, "traceparent"), MetadataOf(context, "tracestate")}};
}

}  // namespace

grpc::Status StatusOf(const FakeError& error) {
  if (error.reason.empty()) return {error.code, error.message};
  UnknownFieldSet status;
  status.AddVarint(1, static_cast<uint64_t>(error.code));
  status.AddLengthDelimited(2, error.message);
  UnknownFieldSet info;
  info.AddLengthDelimited(1, error.reason);
  info.AddLengthDelimited(2, "lockkeeper");
  AddDetail("ErrorInfo", info, status);
  if (!error.field.empty()) {
    UnknownFieldSet violation;
    violation.AddLengthDelimited(1, error.field);
    UnknownFieldSet bad_request;
    bad_request.AddLengthDelimited(1, Bytes(violation));
    AddDetail("BadRequest", bad_request, status);
  }
  if (error.retry_delay_ms > 0) {
    UnknownFieldSet delay;
    delay.AddVarint(1, static_cast<uint64_t>(error.retry_delay_ms / 1000));
    delay.AddVarint(2, static_cast<uint64_t>(error.retry_delay_ms % 1000 * 1'000'000));
    UnknownFieldSet retry;
    retry.AddLengthDelimited(1, Bytes(delay));
    AddDetail("RetryInfo", retry, status);
  }
  return {error.code, error.message, Bytes(status)};
}

class FakeLockServer::Service final : public v1::LockService::Service {
 public:
  Service(FakeLockServer& server, Sessions served) : server_(server), served_(served) {}

  grpc::Status Acquire(grpc::ServerContext* context, const v1::AcquireRequest* request,
                       v1::AcquireResponse* response) override {
    return Acquire(UnaryCall(*context), *request, response);
  }

  grpc::Status Extend(grpc::ServerContext* context, const v1::ExtendRequest* request,
                      v1::ExtendResponse* response) override {
    return Extend(UnaryCall(*context), *request, response);
  }

  grpc::Status Release(grpc::ServerContext* context, const v1::ReleaseRequest* request,
                       v1::ReleaseResponse* response) override {
    return Release(UnaryCall(*context), *request, response);
  }

  grpc::Status Fence(grpc::ServerContext* context, const v1::FenceRequest* request,
                     v1::FenceResponse* response) override {
    return Fence(UnaryCall(*context), *request, response);
  }

  grpc::Status Session(grpc::ServerContext* context, FakeSessions::Stream* stream) override {
    if (served_ == Sessions::kUnimplemented) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    return server_.sessions.Serve(
        *context, *stream, [this](const FakeCall& call, const auto& operation, auto* result) {
          return Carry(call, operation, result);
        });
  }

 private:
  grpc::Status Acquire(const FakeCall& call, const v1::AcquireRequest& request,
                       v1::AcquireResponse* response) {
    return server_.acquire.Serve(call, request, response,
                                 [this](const FakeCall&, const auto& asked, auto* answer) {
                                   return server_.HonestAcquire(asked, answer);
                                 });
  }

  grpc::Status Extend(const FakeCall& call, const v1::ExtendRequest& request,
                      v1::ExtendResponse* response) {
    return server_.extend.Serve(call, request, response,
                                [this](const FakeCall&, const auto& asked, auto* answer) {
                                  return server_.HonestExtend(asked, answer);
                                });
  }

  grpc::Status Release(const FakeCall& call, const v1::ReleaseRequest& request,
                       v1::ReleaseResponse* response) {
    return server_.release.Serve(call, request, response,
                                 [this](const FakeCall&, const auto& asked, auto* answer) {
                                   return server_.HonestRelease(asked, answer);
                                 });
  }

  grpc::Status Fence(const FakeCall& call, const v1::FenceRequest& request,
                     v1::FenceResponse* response) {
    return server_.fence.Serve(call, request, response,
                               [](const FakeCall&, const auto&, auto* answer) {
                                 answer->set_verdict(v1::VERDICT_UNKNOWN_TOKEN);
                                 return grpc::Status::OK;
                               });
  }

  grpc::Status Carry(const FakeCall& call, const v1::SessionOperation& operation,
                     v1::SessionResult* result) {
    if (operation.has_acquire()) {
      return Acquire(call, operation.acquire(), result->mutable_acquire());
    }
    if (operation.has_extend()) return Extend(call, operation.extend(), result->mutable_extend());
    if (operation.has_release()) {
      return Release(call, operation.release(), result->mutable_release());
    }
    return Fence(call, operation.fence(), result->mutable_fence());
  }

  FakeLockServer& server_;
  const Sessions served_;
};

class FakeLockServer::AdminService final : public admin::v1::AdminService::Service {
 public:
  explicit AdminService(FakeLockServer& server) : server_(server) {}

  grpc::Status GetLock(grpc::ServerContext* context, const admin::v1::GetLockRequest* request,
                       admin::v1::GetLockResponse* response) override {
    return server_.get_lock.Serve(FakeCall{*context}, *request, response,
                                  [this](const FakeCall&, const auto& asked, auto* answer) {
                                    return server_.HonestGetLock(asked, answer);
                                  });
  }

  grpc::Status WatchLocks(grpc::ServerContext* context, const admin::v1::WatchLocksRequest* request,
                          FakeWatches::Stream* stream) override {
    return server_.watches.Serve(*context, *request, *stream);
  }

 private:
  FakeLockServer& server_;
};

FakeLockServer::FakeLockServer(const std::string& socket_path, Sessions served)
    : service_(std::make_unique<Service>(*this, served)),
      admin_service_(std::make_unique<AdminService>(*this)) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(socket_path.empty() ? "127.0.0.1:0" : "unix:" + socket_path,
                           grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(service_.get());
  builder.RegisterService(admin_service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) throw std::runtime_error("the fake lock server cannot listen");
  address_ = socket_path.empty() ? "127.0.0.1:" + std::to_string(port) : "unix:" + socket_path;
}

FakeLockServer::~FakeLockServer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    ending_changed_.notify_all();
  }
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

void FakeLockServer::UntilCancelled(const FakeCall& call) const {
  std::unique_lock lock(mutex_);
  // gRPC's blocking services cannot be told of a cancel; they have to look.
  while (!ending_ && !call.IsCancelled()) {
    ending_changed_.wait_for(lock, std::chrono::milliseconds(2));
  }
}

void FakeLockServer::Fill(const std::string& name, const Held& held, v1::Lease* lease) const {
  lease->set_name(name);
  lease->set_lease_id(held.lease_id);
  lease->set_fencing_token(held.token);
  *lease->mutable_ttl() = held.ttl;
  *lease->mutable_remaining_ttl() = held.ttl;
  std::string proof = "proof of " + std::to_string(held.token);
  if (held.extends > 0) proof += "." + std::to_string(held.extends);
  lease->set_reassertion(std::move(proof));
}

grpc::Status FakeLockServer::HonestAcquire(const v1::AcquireRequest& request,
                                           v1::AcquireResponse* response) {
  const std::lock_guard lock(mutex_);
  Held& held = locks_[request.name()];
  if (!held.lease_id.empty() && held.lease_id != request.lease_id()) {
    response->mutable_contention()->set_reason(v1::CONTENTION_REASON_HELD);
    response->mutable_contention()->set_holder_owner(held.owner);
    *response->mutable_contention()->mutable_remaining_ttl() = held.ttl;
    return grpc::Status::OK;
  }
  if (held.lease_id.empty()) {
    held = {request.lease_id(), request.owner(), ++last_token_, request.ttl(), 0};
    if (!request.has_ttl()) held.ttl.set_seconds(30);
  }
  Fill(request.name(), held, response->mutable_lease());
  return grpc::Status::OK;
}

grpc::Status FakeLockServer::HonestExtend(const v1::ExtendRequest& request,
                                          v1::ExtendResponse* response) {
  const std::lock_guard lock(mutex_);
  Held& held = locks_[request.name()];
  if (held.lease_id.empty() || held.lease_id != request.lease_id()) {
    return StatusOf({grpc::StatusCode::FAILED_PRECONDITION, "LEASE_LOST"});
  }
  ++held.extends;
  Fill(request.name(), held, response->mutable_lease());
  if (request.has_ttl()) *response->mutable_lease()->mutable_remaining_ttl() = request.ttl();
  return grpc::Status::OK;
}

grpc::Status FakeLockServer::HonestRelease(const v1::ReleaseRequest& request,
                                           v1::ReleaseResponse* response) {
  const std::lock_guard lock(mutex_);
  Held& held = locks_[request.name()];
  response->set_released(!held.lease_id.empty() && held.lease_id == request.lease_id());
  if (response->released()) {
    held = Held();
  } else {
    response->set_reason(v1::NOT_RELEASED_REASON_NOT_HOLDER);
  }
  return grpc::Status::OK;
}

grpc::Status FakeLockServer::HonestGetLock(const admin::v1::GetLockRequest& request,
                                           admin::v1::GetLockResponse* response) {
  const std::lock_guard lock(mutex_);
  const auto found = locks_.find(request.name());
  if (found == locks_.end()) return grpc::Status::OK;
  response->mutable_lock()->set_name(request.name());
  response->mutable_lock()->set_state(found->second.lease_id.empty() ? admin::v1::LOCK_STATE_ENDED
                                                                     : admin::v1::LOCK_STATE_HELD);
  response->mutable_lock()->set_fencing_token(found->second.token);
  response->mutable_lock()->set_owner(found->second.owner);
  return grpc::Status::OK;
}

std::string FakeLockServer::HolderOf(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = locks_.find(name);
  return found == locks_.end() ? "" : found->second.lease_id;
}

void FakeLockServer::Steal(const std::string& name) {
  const std::lock_guard lock(mutex_);
  locks_[name] = {"somebody else's", "thief", ++last_token_, {}, 0};
}

}  // namespace lockkeeper::support
