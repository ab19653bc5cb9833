// SPDX-License-Identifier: Apache-2.0
//
// lockkeeper.v1.LockService: gives each call its reactor. The way of a unary call is in
// unary_reactor.h, that of a session in session_reactor.h.
#pragma once

#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "rpc/call_context.h"
#include "rpc/session_registry.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Lifetime: borrows `edge`.
class LockService final : public v1::LockService::CallbackService {
 public:
  explicit LockService(const Edge& edge);

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
  grpc::ServerUnaryReactor* CheckAccess(grpc::CallbackServerContext* context,
                                        const v1::CheckAccessRequest* request,
                                        v1::CheckAccessResponse* response) override;
  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Session(
      grpc::CallbackServerContext* context) override;

  // Tells all sessions that the daemon ends in `remaining`; new ones are refused.
  void StartDraining(core::Millis remaining) { sessions_.StartDraining(remaining); }

 private:
  const Edge& edge_;
  SessionRegistry sessions_;
};

}  // namespace lockkeeper::rpc
