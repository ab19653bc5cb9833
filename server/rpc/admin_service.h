// SPDX-License-Identifier: Apache-2.0
//
// lockkeeper.admin.v1.AdminService: looks at locks and breaks them. A forced release leaves the
// record `audit.force_release`, whatever came of it.
#pragma once

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "rpc/call_context.h"
#include "rpc/list_queue.h"
#include "rpc/service_deps.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Lifetime: borrows both arguments of the constructor.
class AdminService final : public admin::v1::AdminService::CallbackService {
 public:
  AdminService(const ServiceDeps& deps, CallRecorder& recorder);

  grpc::ServerUnaryReactor* GetLock(grpc::CallbackServerContext* context,
                                    const admin::v1::GetLockRequest* request,
                                    admin::v1::GetLockResponse* response) override;
  grpc::ServerUnaryReactor* ListLocks(grpc::CallbackServerContext* context,
                                      const admin::v1::ListLocksRequest* request,
                                      admin::v1::ListLocksResponse* response) override;
  grpc::ServerUnaryReactor* ForceRelease(grpc::CallbackServerContext* context,
                                         const admin::v1::ForceReleaseRequest* request,
                                         admin::v1::ForceReleaseResponse* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const admin::v1::GetServerInfoRequest* request,
                                          admin::v1::GetServerInfoResponse* response) override;

 private:
  const ServiceDeps& deps_;
  const RpcKind get_lock_;
  const RpcKind list_locks_;
  const RpcKind force_release_;
  const RpcKind get_server_info_;
  ListQueue lists_;
};

}  // namespace lockkeeper::rpc
