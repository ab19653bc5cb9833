// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/lock_caller.h"

#include <cstdint>
#include <random>

#include "core/types.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace lockkeeper::support {
namespace {

template <typename Response>
void ReadDetails(Answer<Response>& answer) {
  google::rpc::Status details;
  if (!details.ParseFromString(answer.status.error_details())) return;
  for (const google::protobuf::Any& detail : details.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (detail.UnpackTo(&info)) answer.reason = info.reason();
    if (detail.UnpackTo(&bad) && bad.field_violations_size() > 0) {
      answer.field = bad.field_violations(0).field();
    }
  }
}

template <typename Response, typename Stub, typename Method, typename Request>
Answer<Response> Call(Stub& stub, Method method, const Request& request,
                      LockCaller::Timeout timeout) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  Answer<Response> answer;
  answer.status = (stub.*method)(&context, request, &answer.response);
  ReadDetails(answer);
  return answer;
}

}  // namespace

LockCaller::LockCaller(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // A connection of its own.
  const auto channel =
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::LockService::NewStub(channel);
  admin_stub_ = admin::v1::AdminService::NewStub(channel);
}

Answer<v1::AcquireResponse> LockCaller::Acquire(const v1::AcquireRequest& request,
                                                Timeout timeout) {
  return Call<v1::AcquireResponse>(*stub_, &v1::LockService::Stub::Acquire, request, timeout);
}

Answer<v1::ExtendResponse> LockCaller::Extend(const v1::ExtendRequest& request, Timeout timeout) {
  return Call<v1::ExtendResponse>(*stub_, &v1::LockService::Stub::Extend, request, timeout);
}

Answer<v1::ReleaseResponse> LockCaller::Release(const v1::ReleaseRequest& request,
                                                Timeout timeout) {
  return Call<v1::ReleaseResponse>(*stub_, &v1::LockService::Stub::Release, request, timeout);
}

Answer<v1::FenceResponse> LockCaller::Fence(const v1::FenceRequest& request, Timeout timeout) {
  return Call<v1::FenceResponse>(*stub_, &v1::LockService::Stub::Fence, request, timeout);
}

Answer<admin::v1::ListLocksResponse> LockCaller::ListLocks(
    const admin::v1::ListLocksRequest& request, Timeout timeout) {
  return Call<admin::v1::ListLocksResponse>(*admin_stub_, &admin::v1::AdminService::Stub::ListLocks,
                                            request, timeout);
}

std::string NewLeaseId() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return core::Hex16(engine()) + core::Hex16(engine());
}

v1::AcquireRequest AcquireOf(const std::string& name, const std::string& lease_id,
                             std::chrono::milliseconds ttl) {
  v1::AcquireRequest request;
  request.set_name(name);
  request.set_lease_id(lease_id);
  request.set_attempt(1);
  const int64_t nanos = std::chrono::nanoseconds(ttl).count();
  request.mutable_ttl()->set_seconds(nanos / 1'000'000'000);
  request.mutable_ttl()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  return request;
}

v1::ExtendRequest ExtendOf(const std::string& name, const std::string& lease_id) {
  v1::ExtendRequest request;
  request.set_name(name);
  request.set_lease_id(lease_id);
  return request;
}

v1::ReleaseRequest ReleaseOf(const std::string& name, const std::string& lease_id) {
  v1::ReleaseRequest request;
  request.set_name(name);
  request.set_lease_id(lease_id);
  return request;
}

v1::FenceRequest FenceOf(const std::string& name, int64_t token) {
  v1::FenceRequest request;
  request.set_name(name);
  request.set_fencing_token(token);
  return request;
}

}  // namespace lockkeeper::support
