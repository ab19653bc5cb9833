// SPDX-License-Identifier: Apache-2.0
#include "transport/grpc_acquire_calls.h"

#include <utility>

#include "transport/convert.h"

namespace lockkeeper::client {

GrpcAcquireCalls::GrpcAcquireCalls(const CallPorts& ports, v1::AcquireRequest request,
                                   std::stop_token cancel)
    : ports_(ports), request_(std::move(request)), cancel_(std::move(cancel)) {}

absl::StatusOr<AcquireAnswer> GrpcAcquireCalls::Acquire(int attempt, Duration wait_timeout,
                                                        Duration timeout) {
  request_.set_attempt(attempt);
  if (wait_timeout > Duration::zero()) {
    *request_.mutable_wait_timeout() = ToProto(wait_timeout);
  } else {
    request_.clear_wait_timeout();
  }
  daemon_ = ports_.channels.current();
  if (request_.confirm()) ports_.channels.PrepareToClaim(daemon_);
  v1::AcquireResponse response;
  const absl::Status status = CallOnce(timeout, cancel_, [&](grpc::ClientContext& context) {
    return ports_.channels[daemon_].acquires->Acquire(&context, request_, &response);
  });
  if (!status.ok()) return status;
  return FromProto(response);
}

absl::StatusOr<Granted> GrpcAcquireCalls::Claim(Duration timeout) {
  v1::ExtendRequest request;
  request.set_name(request_.name());
  request.set_lease_id(request_.lease_id());
  v1::ExtendResponse response;
  const absl::Status status = CallOnce(timeout, cancel_, [&](grpc::ClientContext& context) {
    return ports_.channels[daemon_].others->Extend(&context, request, &response);
  });
  if (!status.ok()) return status;
  return FromProto(response.lease());
}

void GrpcAcquireCalls::TryElsewhere() { ports_.channels.Failed(daemon_); }

bool GrpcAcquireCalls::Pause(Duration delay) { return PauseFor(delay, cancel_); }

}  // namespace lockkeeper::client
