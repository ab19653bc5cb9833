// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/lock_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <utility>

#include "support/rpc/deadline.h"
#include "support/rpc/error_reason.h"

namespace lockkeeper::support {
namespace {

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

LockClient::LockClient(const std::string& address, std::chrono::milliseconds deadline)
    : LockClient(Connect(address), deadline) {}

LockClient::LockClient(std::shared_ptr<grpc::Channel> channel, std::chrono::milliseconds deadline)
    : deadline_(deadline),
      channel_(std::move(channel)),
      locks_(v1::LockService::NewStub(channel_)),
      admin_(admin::v1::AdminService::NewStub(channel_)) {}

template <typename Response, typename Call>
Answer<Response> LockClient::Run(Call call) const {
  Answer<Response> answer;
  grpc::ClientContext context;
  SetDeadline(context, deadline_);
  const auto begin = std::chrono::steady_clock::now();
  answer.status = call(context, answer.response);
  answer.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  if (!answer.ok()) {
    answer.reason = ReasonOf(answer.status);
    answer.field = FieldOf(answer.status);
  }
  return answer;
}

Answer<v1::AcquireResponse> LockClient::Acquire(const v1::AcquireRequest& request) {
  return Run<v1::AcquireResponse>(
      [&](auto& context, auto& response) { return locks_->Acquire(&context, request, &response); });
}

Answer<v1::ExtendResponse> LockClient::Extend(const v1::ExtendRequest& request) {
  return Run<v1::ExtendResponse>(
      [&](auto& context, auto& response) { return locks_->Extend(&context, request, &response); });
}

Answer<v1::ReleaseResponse> LockClient::Release(const v1::ReleaseRequest& request) {
  return Run<v1::ReleaseResponse>(
      [&](auto& context, auto& response) { return locks_->Release(&context, request, &response); });
}

Answer<v1::FenceResponse> LockClient::Fence(const v1::FenceRequest& request) {
  return Run<v1::FenceResponse>(
      [&](auto& context, auto& response) { return locks_->Fence(&context, request, &response); });
}

Answer<admin::v1::GetLockResponse> LockClient::GetLock(const std::string& name) {
  admin::v1::GetLockRequest request;
  request.set_name(name);
  return Run<admin::v1::GetLockResponse>(
      [&](auto& context, auto& response) { return admin_->GetLock(&context, request, &response); });
}

Answer<admin::v1::ListLocksResponse> LockClient::ListLocks(
    const admin::v1::ListLocksRequest& request) {
  return Run<admin::v1::ListLocksResponse>([&](auto& context, auto& response) {
    return admin_->ListLocks(&context, request, &response);
  });
}

Answer<admin::v1::ForceReleaseResponse> LockClient::ForceRelease(const std::string& name) {
  admin::v1::ForceReleaseRequest request;
  request.set_name(name);
  request.set_reason("test");
  return Run<admin::v1::ForceReleaseResponse>([&](auto& context, auto& response) {
    return admin_->ForceRelease(&context, request, &response);
  });
}

Answer<admin::v1::GetServerInfoResponse> LockClient::GetServerInfo() {
  return Run<admin::v1::GetServerInfoResponse>([&](auto& context, auto& response) {
    return admin_->GetServerInfo(&context, {}, &response);
  });
}

}  // namespace lockkeeper::support
