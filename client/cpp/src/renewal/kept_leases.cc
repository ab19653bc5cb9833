// SPDX-License-Identifier: Apache-2.0
#include "renewal/kept_leases.h"

#include <algorithm>

#include "status_payloads.h"

namespace lockkeeper::client {

void KeptLeases::Add(const std::shared_ptr<KeptLease>& lease) {
  const std::lock_guard lock(mutex_);
  leases_[lease->ref().lease_id] = lease;
  if (leases_.size() < tidy_at_) return;
  std::erase_if(leases_, [](const auto& each) { return each.second.expired(); });
  tidy_at_ = std::max<size_t>(64, 2 * leases_.size());
}

void KeptLeases::Ended(const std::string& name, const std::string& lease_id) {
  std::shared_ptr<KeptLease> lease;
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(lease_id);
    if (found != leases_.end()) lease = found->second.lock();
  }
  if (lease == nullptr || lease->ref().name != name) return;
  lease->Ended(ErrorWithReason(absl::StatusCode::kFailedPrecondition, ErrorReason::kLeaseLost,
                               "the lease has ended"));
}

}  // namespace lockkeeper::client
