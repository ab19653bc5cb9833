// SPDX-License-Identifier: Apache-2.0
//
// Blocking calls of LockService and AdminService, as a program made from the protos alone would
// make them: no client library, no retries.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::support {

template <typename Response>
struct Answer {
  grpc::Status status;
  std::string reason;  // Of google.rpc.ErrorInfo; empty if there is none.
  std::string field;   // Of the first google.rpc.BadRequest; empty if there is none.
  Response response;

  bool ok() const { return status.ok(); }
};

// Thread-safety: thread-safe.
class LockCaller {
 public:
  explicit LockCaller(const std::string& address);

  using Timeout = std::chrono::milliseconds;
  static constexpr Timeout kTimeout{10'000};

  Answer<v1::AcquireResponse> Acquire(const v1::AcquireRequest& request,
                                      Timeout timeout = kTimeout);
  Answer<v1::ExtendResponse> Extend(const v1::ExtendRequest& request, Timeout timeout = kTimeout);
  Answer<v1::ReleaseResponse> Release(const v1::ReleaseRequest& request,
                                      Timeout timeout = kTimeout);
  Answer<v1::FenceResponse> Fence(const v1::FenceRequest& request, Timeout timeout = kTimeout);
  Answer<admin::v1::ListLocksResponse> ListLocks(const admin::v1::ListLocksRequest& request,
                                                 Timeout timeout = kTimeout);

 private:
  std::unique_ptr<v1::LockService::Stub> stub_;
  std::unique_ptr<admin::v1::AdminService::Stub> admin_stub_;
};

// A new lease id, different in each call and each process.
std::string NewLeaseId();

v1::AcquireRequest AcquireOf(const std::string& name, const std::string& lease_id,
                             std::chrono::milliseconds ttl = std::chrono::seconds(30));
v1::ExtendRequest ExtendOf(const std::string& name, const std::string& lease_id);
v1::ReleaseRequest ReleaseOf(const std::string& name, const std::string& lease_id);
v1::FenceRequest FenceOf(const std::string& name, int64_t token);

}  // namespace lockkeeper::support
