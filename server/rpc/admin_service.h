// SPDX-License-Identifier: Apache-2.0
//
// lockkeeper.admin.v1.AdminService: looks at locks and breaks them. ForceRelease, EndQuarantine
// and Drain leave an audit record (audit.h), also if they fail.
#pragma once

#include <atomic>
#include <vector>

#include "config/listen_address.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "rpc/call_context.h"
#include "rpc/list_queue.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Lifetime: borrows `edge` and `addresses`.
class AdminService final : public admin::v1::AdminService::CallbackService {
 public:
  // `addresses`: on which the server listens. Not looked at before the first call.
  AdminService(const Edge& edge, const std::vector<config::ListenAddress>& addresses);

  grpc::ServerUnaryReactor* GetLock(grpc::CallbackServerContext* context,
                                    const admin::v1::GetLockRequest* request,
                                    admin::v1::GetLockResponse* response) override;
  grpc::ServerUnaryReactor* ListLocks(grpc::CallbackServerContext* context,
                                      const admin::v1::ListLocksRequest* request,
                                      admin::v1::ListLocksResponse* response) override;
  grpc::ServerWriteReactor<admin::v1::WatchLocksResponse>* WatchLocks(
      grpc::CallbackServerContext* context, const admin::v1::WatchLocksRequest* request) override;
  grpc::ServerUnaryReactor* ListContendedLocks(
      grpc::CallbackServerContext* context, const admin::v1::ListContendedLocksRequest* request,
      admin::v1::ListContendedLocksResponse* response) override;
  grpc::ServerUnaryReactor* ForceRelease(grpc::CallbackServerContext* context,
                                         const admin::v1::ForceReleaseRequest* request,
                                         admin::v1::ForceReleaseResponse* response) override;
  grpc::ServerUnaryReactor* EndQuarantine(grpc::CallbackServerContext* context,
                                          const admin::v1::EndQuarantineRequest* request,
                                          admin::v1::EndQuarantineResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const admin::v1::DrainRequest* request,
                                  admin::v1::DrainResponse* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const admin::v1::GetServerInfoRequest* request,
                                          admin::v1::GetServerInfoResponse* response) override;

 private:
  const Edge& edge_;
  const std::vector<config::ListenAddress>& addresses_;
  ListQueue lists_;
  std::atomic<bool> drain_asked_{false};
};

}  // namespace lockkeeper::rpc
