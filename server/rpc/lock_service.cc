// SPDX-License-Identifier: Apache-2.0
#include "rpc/lock_service.h"

#include <utility>

#include "rpc/acquire_reactor.h"
#include "rpc/call_outcome.h"
#include "rpc/convert.h"
#include "rpc/session_reactor.h"
#include "rpc/unary_reactor.h"

namespace lockkeeper::rpc {
namespace {

using telemetry::Outcome;

struct ExtendCall {
  using Request = v1::ExtendRequest;
  using Response = v1::ExtendResponse;
  using Answer = core::Lease;

  absl::Status Read(const Request& from, const ServiceDeps& deps, const CallContext& context) {
    absl::Status status = ToCore(from, deps.limits, request);
    request.principal = context.principal();
    request.deadline = context.deadline();
    lease_id = request.lease_id;
    return status;
  }
  void Run(const ServiceDeps& deps, core::Done<Answer> done) {
    deps.locks.Extend(std::move(request), std::move(done));
  }
  Outcome Write(Answer& answer, Response& response) {
    ToProto(answer, response);
    token = answer.token;
    return Outcome::kExtended;
  }
  CallSubject Subject(const Request& from) const {
    return {.lock_name = from.name(), .lease_id = lease_id, .token = token};
  }

  core::ExtendRequest request;
  core::LeaseId lease_id;
  core::FencingToken token;
};

struct ReleaseCall {
  using Request = v1::ReleaseRequest;
  using Response = v1::ReleaseResponse;
  using Answer = core::ReleaseAnswer;

  absl::Status Read(const Request& from, const ServiceDeps&, const CallContext& context) {
    absl::Status status = ToCore(from, request);
    request.principal = context.principal();
    request.deadline = context.deadline();
    lease_id = request.lease_id;
    return status;
  }
  void Run(const ServiceDeps& deps, core::Done<Answer> done) {
    deps.locks.Release(std::move(request), std::move(done));
  }
  Outcome Write(Answer& answer, Response& response) {
    ToProto(answer, response);
    return OutcomeOf(answer);
  }
  CallSubject Subject(const Request& from) const {
    return {.lock_name = from.name(), .lease_id = lease_id};
  }

  core::ReleaseRequest request;
  core::LeaseId lease_id;
};

struct FenceCall {
  using Request = v1::FenceRequest;
  using Response = v1::FenceResponse;
  using Answer = core::FenceAnswer;

  absl::Status Read(const Request& from, const ServiceDeps&, const CallContext& context) {
    absl::Status status = ToCore(from, request);
    request.deadline = context.deadline();
    return status;
  }
  void Run(const ServiceDeps& deps, core::Done<Answer> done) {
    deps.locks.Fence(std::move(request), std::move(done));
  }
  Outcome Write(Answer& answer, Response& response) {
    ToProto(answer, response);
    return OutcomeOf(answer);
  }
  CallSubject Subject(const Request& from) const {
    return {.lock_name = from.name(), .token = core::FencingToken{from.fencing_token()}};
  }

  core::FenceRequest request;
};

}  // namespace

LockService::LockService(const ServiceDeps& deps, CallRecorder& recorder)
    : deps_(deps),
      acquire_{"Acquire", deps.metrics.ForRpc("Acquire"), recorder},
      extend_{"Extend", deps.metrics.ForRpc("Extend"), recorder},
      release_{"Release", deps.metrics.ForRpc("Release"), recorder},
      fence_{"Fence", deps.metrics.ForRpc("Fence"), recorder},
      session_{"Session", deps.metrics.ForRpc("Session"), recorder},
      session_kinds_{session_, acquire_, extend_, release_, fence_},
      keepers_(deps.facts.daemon_id),
      sessions_(deps.metrics.sessions()) {}

grpc::ServerUnaryReactor* LockService::Acquire(grpc::CallbackServerContext* context,
                                               const v1::AcquireRequest* request,
                                               v1::AcquireResponse* response) {
  auto* reactor = new AcquireReactor(acquire_, deps_, *context, *request, *response);
  reactor->Start(keepers_.Next());
  return reactor;
}

grpc::ServerUnaryReactor* LockService::Extend(grpc::CallbackServerContext* context,
                                              const v1::ExtendRequest* request,
                                              v1::ExtendResponse* response) {
  return StartCall<ExtendCall>(extend_, deps_, *context, *request, *response);
}

grpc::ServerUnaryReactor* LockService::Release(grpc::CallbackServerContext* context,
                                               const v1::ReleaseRequest* request,
                                               v1::ReleaseResponse* response) {
  return StartCall<ReleaseCall>(release_, deps_, *context, *request, *response);
}

grpc::ServerUnaryReactor* LockService::Fence(grpc::CallbackServerContext* context,
                                             const v1::FenceRequest* request,
                                             v1::FenceResponse* response) {
  return StartCall<FenceCall>(fence_, deps_, *context, *request, *response);
}

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* LockService::Session(
    grpc::CallbackServerContext* context) {
  return new SessionReactor(session_kinds_, deps_, keepers_, sessions_, *context);
}

}  // namespace lockkeeper::rpc
