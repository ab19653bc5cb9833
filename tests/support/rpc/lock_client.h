// SPDX-License-Identifier: Apache-2.0
//
// A client made from the protos alone, on a connection of its own; its calls block.
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
  Response response;
  std::chrono::milliseconds elapsed{};
};

// Thread-safety: thread-safe.
class LockClient {
 public:
  // `address` as the daemon tells it. `deadline` holds for each call.
  explicit LockClient(const std::string& address,
                      std::chrono::milliseconds deadline = std::chrono::seconds(20));

  Answer<v1::AcquireResponse> Acquire(const v1::AcquireRequest& request);
  // With a lease id that the server makes.
  Answer<v1::AcquireResponse> Acquire(const std::string& name);
  Answer<v1::ExtendResponse> Extend(const std::string& name, const std::string& lease_id);
  Answer<v1::ReleaseResponse> Release(const std::string& name, const std::string& lease_id);
  Answer<v1::FenceResponse> Fence(const std::string& name, int64_t token);
  Answer<admin::v1::GetLockResponse> GetLock(const std::string& name);
  Answer<admin::v1::ListLocksResponse> ListLocks(const admin::v1::ListLocksRequest& request = {});
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
