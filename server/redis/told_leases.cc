// SPDX-License-Identifier: Apache-2.0
#include "redis/told_leases.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"

namespace lockkeeper::redis {
namespace {

// While all room is taken. A look at all of them takes about a millisecond.
constexpr core::Millis kLookInterval{1'000};

}  // namespace

void ToldLeases::Told(ToldLease lease, core::Instant now) {
  const auto known = leases_.find(lease.lease_id);
  if (known != leases_.end()) {
    ToldLease& told = known->second;
    if (!lease.adopter) lease.adopter = told.adopter;
    if (lease.keeper == core::Keeper()) lease.keeper = told.keeper;
    // Answers may overtake each other.
    if (told.token == lease.token) {
      lease.end = std::max(lease.end, told.end);
      lease.hold_end = std::max(lease.hold_end, told.hold_end);
    }
    told = std::move(lease);
    return;
  }
  if (leases_.size() >= look_at_ && now >= look_again_) MakeRoom(now);
  if (leases_.size() >= core::limits::kToldLeasesMax) {
    more_until_ = std::max(more_until_, lease.ClosedUntil());
    return;
  }
  const core::LeaseId lease_id = lease.lease_id;
  leases_.emplace(lease_id, std::move(lease));
}

void ToldLeases::MakeRoom(core::Instant now) {
  absl::erase_if(leases_, [now](const auto& entry) { return entry.second.ClosedUntil() <= now; });
  look_again_ = now + kLookInterval;
  look_at_ = std::clamp(leases_.size() * 2, look_at_, core::limits::kToldLeasesMax);
}

void ToldLeases::Ended(const core::LeaseId& lease_id, std::string_view principal,
                       core::Instant now) {
  const auto known = leases_.find(lease_id);
  if (known == leases_.end()) return;
  ToldLease& told = known->second;
  if (!principal.empty() && told.principal != principal) return;
  if (told.hold_end <= now) {
    leases_.erase(known);
    return;
  }
  told.end = std::min(told.end, now);
  told.terms.lock_delay = core::Millis(0);
}

void ToldLeases::Withdrawn(const core::WithdrawRequest& request) {
  using enum core::WithdrawScope;
  const auto known = leases_.find(request.lease_id);
  if (known == leases_.end()) return;
  const ToldLease& told = known->second;
  const bool is_keeper = told.adopter.value_or(told.keeper) == request.keeper;
  const bool ends_it = ((request.scope == kLeaseToo || request.scope == kRelease) && is_keeper) ||
                       (request.scope == kClaim && told.token == request.token);
  if (ends_it) leases_.erase(known);
}

std::vector<ToldLease> ToldLeases::Live(core::Instant now) {
  MakeRoom(now);
  std::vector<ToldLease> live;
  live.reserve(leases_.size());
  for (const auto& [lease_id, lease] : leases_) live.push_back(lease);
  std::ranges::sort(live, {}, &ToldLease::token);
  return live;
}

}  // namespace lockkeeper::redis
