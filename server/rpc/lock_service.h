// SPDX-License-Identifier: Apache-2.0
//
// lockkeeper.v1.LockService: gives each call its reactor. The way of a call is in unary_reactor.h.
#pragma once

#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "rpc/call_context.h"
#include "rpc/keeper_source.h"
#include "rpc/service_deps.h"
#include "rpc/session_reactor.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Lifetime: borrows both arguments of the constructor.
class LockService final : public v1::LockService::CallbackService {
 public:
  LockService(const ServiceDeps& deps, CallRecorder& recorder);

  grpc::ServerUnaryReactor* Acquire(grpc::CallbackServerContext* context,
                                    const v1::AcquireRequest* request,
                                    v1::AcquireResponse* response) override;
  grpc::ServerUnaryReactor* Extend(grpc::CallbackServerContext* context,
                                   const v1::ExtendRequest* request,
                                   v1::ExtendResponse* response) override;
  grpc::ServerUnaryReactor* Release(grpc::CallbackServerContext* context,
                                    const v1::ReleaseRequest* request,
                                    v1::ReleaseResponse* response) override;
  grpc::ServerUnaryReactor* Fence(grpc::CallbackServerContext* context,
                                  const v1::FenceRequest* request,
                                  v1::FenceResponse* response) override;
  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Session(
      grpc::CallbackServerContext* context) override;

  // Tells all sessions that the daemon ends in `remaining`; new ones are refused.
  void StartDraining(core::Millis remaining) { sessions_.StartDraining(remaining); }

 private:
  const ServiceDeps& deps_;
  const RpcKind acquire_;
  const RpcKind extend_;
  const RpcKind release_;
  const RpcKind fence_;
  const RpcKind session_;
  const SessionKinds session_kinds_;
  KeeperSource keepers_;
  SessionRegistry sessions_;
};

}  // namespace lockkeeper::rpc
