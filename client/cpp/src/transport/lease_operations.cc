// SPDX-License-Identifier: Apache-2.0
#include "transport/lease_operations.h"

#include <utility>

#include "lockkeeper/error.h"
#include "transport/convert.h"
#include "transport/tracing.h"

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

void LeaseOperations::Run(v1::SessionOperation request, Duration timeout,
                          absl::AnyInvocable<void(OperationAnswer) &&> done) {
  const size_t daemon = daemons_.current();
  auto operation = std::make_shared<PendingOperation>();
  operation->request = std::move(request);
  operation->deadline = clock_.Now() + timeout;
  operation->done = [this, daemon, done = std::move(done)](OperationAnswer answer) mutable {
    const absl::Status& status = answer.status();
    if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
      daemons_.Failed(daemon, status);
    }
    std::move(done)(std::move(answer));
  };
  daemons_[daemon].Run(std::move(operation));
}

void LeaseOperations::Extend(const LeaseRef& lease, std::optional<Duration> ttl, Duration timeout,
                             absl::AnyInvocable<void(ExtendAnswer) &&> done) {
  v1::SessionOperation request;
  request.mutable_extend()->set_name(lease.name);
  request.mutable_extend()->set_lease_id(lease.lease_id);
  request.mutable_extend()->set_fencing_token(lease.fencing_token);
  request.mutable_extend()->set_reassertion(lease.reassertion);
  if (ttl) *request.mutable_extend()->mutable_ttl() = ToProto(*ttl);
  Run(std::move(request), timeout, [done = std::move(done)](const OperationAnswer& answer) mutable {
    const absl::StatusOr<Granted> extended = ExtendedFrom(answer);
    ExtendAnswer told{.outcome = OutcomeOf(extended.status()), .error = extended.status()};
    if (extended.ok()) {
      told.remaining_ttl = extended->remaining_ttl;
      told.reassertion = extended->grant.reassertion;
    }
    std::move(done)(std::move(told));
  });
}

void LeaseOperations::Release(const LeaseRef& lease, const TraceContext& trace, Duration timeout,
                              absl::AnyInvocable<void(absl::StatusOr<ReleaseOutcome>) &&> done) {
  v1::SessionOperation request;
  request.mutable_release()->set_name(lease.name);
  request.mutable_release()->set_lease_id(lease.lease_id);
  SetTrace(trace, request);
  Run(std::move(request), timeout, [done = std::move(done)](const OperationAnswer& answer) mutable {
    std::move(done)(ReleasedFrom(answer));
  });
  // One that goes elsewhere than the session that keeps the lease may never arrive.
  Forget(lease);
}

}  // namespace lockkeeper::client
