// SPDX-License-Identifier: Apache-2.0
//
// A client made from the protos alone, on a connection of its own: no client library, no retries.
// Its calls block.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::support {

template <typename Response>
struct Answer {
  grpc::Status status;
  std::string reason;  // Of an error; see ReasonOf.
  std::string field;   // Of an error; see FieldOf.
  Response response;
  std::chrono::milliseconds elapsed{};

  bool ok() const { return status.ok(); }
};

// Thread-safety: thread-safe.
class LockClient {
 public:
  // `address` as the daemon tells it. `deadline` holds for each call.
  explicit LockClient(const std::string& address,
                      std::chrono::milliseconds deadline = std::chrono::seconds(20));
  explicit LockClient(std::shared_ptr<grpc::Channel> channel,
                      std::chrono::milliseconds deadline = std::chrono::seconds(20));

  // On the same connection.
  LockClient WithDeadline(std::chrono::milliseconds deadline) const {
    return LockClient(channel_, deadline);
  }

  Answer<v1::AcquireResponse> Acquire(const v1::AcquireRequest& request);
  Answer<v1::ExtendResponse> Extend(const v1::ExtendRequest& request);
  Answer<v1::ReleaseResponse> Release(const v1::ReleaseRequest& request);
  Answer<v1::FenceResponse> Fence(const v1::FenceRequest& request);
  Answer<admin::v1::GetLockResponse> GetLock(const std::string& name);
  Answer<admin::v1::ListLocksResponse> ListLocks(const admin::v1::ListLocksRequest& request = {});
  Answer<admin::v1::ForceReleaseResponse> ForceRelease(const std::string& name);
  Answer<admin::v1::GetServerInfoResponse> GetServerInfo();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  v1::LockService::Stub& locks() { return *locks_; }

 private:
  template <typename Response, typename Call>
  Answer<Response> Run(Call call) const;

  const std::chrono::milliseconds deadline_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::LockService::Stub> locks_;
  const std::unique_ptr<admin::v1::AdminService::Stub> admin_;
};

}  // namespace lockkeeper::support
