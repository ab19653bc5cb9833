// SPDX-License-Identifier: Apache-2.0
//
// Makes and checks the proofs with which holders take their leases back after the store may have
// forgotten them. Each answer with a lease carries a new proof. It is valid until the end of the
// lease in that answer, even if the node's clock is set meanwhile, but not for a lease that this
// daemon knows to have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/clock.h"
#include "core/requests.h"
#include "redis/format/reassertion.h"
#include "redis/guard/store_guard.h"
#include "redis/script_reply.h"
#include "redis/told_leases.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class LeaseProofs {
 public:
  // `told`: hears of leases that have ended, too. May be null.
  LeaseProofs(const core::Clock& clock, const StoreGuard& guard, ToldLeases* told = nullptr)
      : clock_(clock), guard_(guard), told_(told) {}

  // What a proof says of a lease that the store has just answered.
  ProvedTerms TermsOf(Route route, const core::Lease& lease, const LeaseTerms& terms) const;

  // The proof.
  std::string Make(Route route, const core::Lease& lease, const std::string& principal,
                   const ProvedTerms& proved);

  // The terms of the lease by its proof. Nothing if the proof is not valid for this request.
  std::optional<ProvedTerms> Check(Route route, const core::ExtendRequest& shown);

  // How long it takes until the proved lease may be taken back, see ProofBasis. 0: it
  // may now, or is over.
  core::Micros TooEarlyBy(Route route, const ProvedTerms& proved) const;

  // The lease was released by `principal`, or forced out (no principal). From now on this daemon
  // rejects its proofs, for as long as one can be valid, unless more than kEndedLeasesMax leases
  // have ended.
  void Ended(Route route, const core::LeaseId& lease_id, std::string_view principal = "");

  // A lease was forced out, or may have been, by a call that was answered now. Its client, and the
  // daemon that told it, may not hear of that.
  void ForcedOut();

 private:
  // Every release adds one, and only who re-asserts after a loss looks for one: then they are
  // hashed.
  class Digests {
   public:
    void Add(uint64_t digest) { added_.push_back(digest); }
    bool Contains(uint64_t digest);
    size_t size() const { return added_.size() + hashed_.size(); }

   private:
    std::vector<uint64_t> added_;
    absl::flat_hash_set<uint64_t> hashed_;
  };

  bool HasEnded(const core::LeaseId& lease_id, std::string_view principal);

  // Makes room for so many more.
  void ForgetOld(Route route, size_t more);

  const core::Clock& clock_;
  const StoreGuard& guard_;
  ToldLeases* const told_;
  Reassertions reassertions_;
  Digests ended_;         // Those since `half_end_` was set,
  Digests ended_before_;  // and in the time before.
  core::Instant half_end_;
};

}  // namespace lockkeeper::redis
