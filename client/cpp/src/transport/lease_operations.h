// SPDX-License-Identifier: Apache-2.0
//
// Extends and releases leases by operations at the daemon that is in use.
#pragma once

#include "renewal/lease_calls.h"
#include "transport/daemons.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe. Completion: as that of operations. Lifetime: borrows both arguments.
class LeaseOperations final : public LeaseCalls {
 public:
  LeaseOperations(Daemons& daemons, const Clock& clock) : daemons_(daemons), clock_(clock) {}

  void Extend(const LeaseRef& lease, std::optional<Duration> ttl, Duration timeout,
              absl::AnyInvocable<void(ExtendAnswer) &&> done) override;
  void Release(const LeaseRef& lease, const TraceContext& trace, Duration timeout,
               absl::AnyInvocable<void(absl::StatusOr<ReleaseOutcome>) &&> done) override;
  void Forget(const LeaseRef& lease) override { daemons_.Forget(lease.name, lease.lease_id); }

 private:
  // If this daemon did not serve, the next call goes to the next one.
  void Run(v1::SessionOperation request, Duration timeout,
           absl::AnyInvocable<void(OperationAnswer) &&> done);

  Daemons& daemons_;
  const Clock& clock_;
};

}  // namespace lockkeeper::client
