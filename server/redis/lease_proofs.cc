// SPDX-License-Identifier: Apache-2.0
#include "redis/lease_proofs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/hash/hash.h"
#include "core/limits.h"

namespace lockkeeper::redis {
namespace {

// A call that was given up is carried out no later than so long after that: see
// RedisStoreOptions::call_lifetime.
constexpr core::Millis kCarriedOutLate{10'000};

uint64_t DigestOf(const core::LeaseId& lease_id, std::string_view principal) {
  return absl::HashOf(lease_id.digits(), principal);
}

}  // namespace

ProvedTerms LeaseProofs::TermsOf(Route route, const core::Lease& lease,
                                 const LeaseTerms& terms) const {
  const ProofBasis basis = guard_.proof_basis(route);
  ProvedTerms proved{.ttl = terms.ttl,
                     .lock_delay = terms.lock_delay,
                     .lease_end = {lease.lease_end.micros - basis.clock_offset.count()}};
  if (terms.max_hold_end.micros > 0) {
    proved.max_hold_end = {terms.max_hold_end.micros - basis.clock_offset.count()};
  }
  if (terms.hold_end.micros > 0) {
    proved.hold_end = {terms.hold_end.micros - basis.clock_offset.count()};
  }
  return proved;
}

std::string LeaseProofs::Make(Route route, const core::Lease& lease, const std::string& principal,
                              const ProvedTerms& proved) {
  reassertions_.SetKey(guard_.proof_basis(route).key);
  return reassertions_.Make({lease.name, lease.lease_id, lease.token, principal}, proved);
}

std::optional<ProvedTerms> LeaseProofs::Check(Route route, const core::ExtendRequest& shown) {
  ForgetOld(route, 0);
  if (HasEnded(shown.lease_id, "") || HasEnded(shown.lease_id, shown.principal)) {
    return std::nullopt;
  }
  reassertions_.SetKey(guard_.proof_basis(route).key);
  return reassertions_.Check({shown.name, shown.lease_id, shown.token, shown.principal},
                             shown.reassertion);
}

core::Micros LeaseProofs::TooEarlyBy(Route route, const ProvedTerms& proved) const {
  const ProofBasis basis = guard_.proof_basis(route);
  const core::NodeTime now = guard_.Permit(route, {}).earliest;
  const core::NodeTime end{proved.lease_end.micros + basis.clock_offset.count()};
  return now < end ? basis.isolation_left : core::Micros(0);
}

bool LeaseProofs::Digests::Contains(uint64_t digest) {
  hashed_.insert(added_.begin(), added_.end());
  added_.clear();
  return hashed_.contains(digest);
}

bool LeaseProofs::HasEnded(const core::LeaseId& lease_id, std::string_view principal) {
  const uint64_t digest = DigestOf(lease_id, principal);
  return ended_.Contains(digest) || ended_before_.Contains(digest);
}

void LeaseProofs::Ended(Route route, const core::LeaseId& lease_id, std::string_view principal) {
  ForgetOld(route, 1);
  ended_.Add(DigestOf(lease_id, principal));
  if (told_ != nullptr) told_->Ended(lease_id, principal, clock_.Now());
}

// The longest lease is known by now: a call that was sent with a shorter one was refused.
void LeaseProofs::ForcedOut() {
  if (told_ == nullptr) return;
  told_->ForcedOut(clock_.Now() + kCarriedOutLate + guard_.proof_basis({}).longest_lease);
}

void LeaseProofs::ForgetOld(Route route, size_t more) {
  const core::Instant now = clock_.Now();
  if (now < half_end_ && ended_.size() + more <= core::limits::kEndedLeasesMax / 2) return;
  const core::Millis longest = guard_.proof_basis(route).longest_lease;
  if (now >= half_end_ + longest) ended_ = {};  // The older half is as old by now.
  ended_before_ = std::exchange(ended_, {});
  half_end_ = now + longest;
}

}  // namespace lockkeeper::redis
