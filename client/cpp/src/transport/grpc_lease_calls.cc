// SPDX-License-Identifier: Apache-2.0
#include "transport/grpc_lease_calls.h"

#include <string>
#include <utility>

#include "lockkeeper/error.h"
#include "transport/call_options.h"
#include "transport/convert.h"
#include "transport/status_details.h"

namespace lockkeeper::client {
namespace {

ExtendOutcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return ExtendOutcome::kExtended;
  if (absl::IsFailedPrecondition(status)) {
    return ReasonOf(status) == ErrorReason::kLeaseLost ? ExtendOutcome::kLeaseLost
                                                       : ExtendOutcome::kRefused;
  }
  const bool unanswered = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  return unanswered ? ExtendOutcome::kNoAnswer : ExtendOutcome::kRefused;
}

}  // namespace

template <typename Request, typename Response>
struct GrpcLeaseCalls::Call {
  std::optional<grpc::ClientContext> context{std::in_place};
  Request request;
  Response response;
};

void GrpcLeaseCalls::Close() {
  std::unique_lock lock(mutex_);
  for (grpc::ClientContext* context : under_way_) context->TryCancel();
  all_ended_.wait(lock, [&] { return under_way_.empty(); });
}

void GrpcLeaseCalls::Begin(grpc::ClientContext& context) {
  const std::lock_guard lock(mutex_);
  under_way_.insert(&context);
}

absl::Status GrpcLeaseCalls::StatusOf(const grpc::Status& answered, size_t daemon) {
  absl::Status status = StatusOfUncancelled(answered);
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) channels_.Failed(daemon);
  return status;
}

void GrpcLeaseCalls::End(std::optional<grpc::ClientContext>& context) {
  const std::lock_guard lock(mutex_);
  under_way_.erase(&*context);
  // A context holds on to its channel, and the last channel to go waits for the thread that this
  // runs on. So this one must be gone before Close returns and lets the channels go.
  context.reset();
  if (under_way_.empty()) all_ended_.notify_all();
}

void GrpcLeaseCalls::Extend(const LeaseRef& lease, std::optional<Duration> ttl, Duration timeout,
                            absl::AnyInvocable<void(ExtendAnswer) &&> done) {
  const size_t daemon = channels_.current();
  auto call = std::make_shared<Call<v1::ExtendRequest, v1::ExtendResponse>>();
  call->request.set_name(lease.name);
  call->request.set_lease_id(lease.lease_id);
  if (ttl) *call->request.mutable_ttl() = ToProto(*ttl);
  SetTimeout(*call->context, timeout);
  Begin(*call->context);
  channels_[daemon].others->async()->Extend(
      &*call->context, &call->request, &call->response,
      [this, daemon, call,
       done = std::make_shared<decltype(done)>(std::move(done))](const grpc::Status& answered) {
        const absl::Status status = StatusOf(answered, daemon);
        std::move (*done)({.outcome = OutcomeOf(status),
                           .remaining_ttl = FromProto(call->response.lease().remaining_ttl())});
        *done = nullptr;
        End(call->context);
      });
}

void GrpcLeaseCalls::Release(const LeaseRef& lease, Duration timeout,
                             absl::AnyInvocable<void(absl::StatusOr<ReleaseOutcome>) &&> done) {
  const size_t daemon = channels_.current();
  auto call = std::make_shared<Call<v1::ReleaseRequest, v1::ReleaseResponse>>();
  call->request.set_name(lease.name);
  call->request.set_lease_id(lease.lease_id);
  SetTimeout(*call->context, timeout);
  Begin(*call->context);
  channels_[daemon].others->async()->Release(
      &*call->context, &call->request, &call->response,
      [this, daemon, call,
       done = std::make_shared<decltype(done)>(std::move(done))](const grpc::Status& answered) {
        const absl::Status status = StatusOf(answered, daemon);
        if (status.ok()) {
          std::move (*done)(FromProto(call->response));
        } else {
          std::move (*done)(status);
        }
        *done = nullptr;
        End(call->context);
      });
}

}  // namespace lockkeeper::client
