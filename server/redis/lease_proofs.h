// SPDX-License-Identifier: Apache-2.0
//
// What holders prove their leases with after the store may have forgotten them: makes a proof with
// each answer that carries a lease, and tells what a proof that is shown is worth. It is good until
// the end of the lease that it came with, whatever the node's clock is set to meanwhile; and not
// for a lease that this daemon knows to have ended before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "core/clock.h"
#include "core/requests.h"
#include "redis/format/reassertion.h"
#include "redis/guard/store_guard.h"
#include "redis/script_reply.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class LeaseProofs {
 public:
  LeaseProofs(const core::Clock& clock, const StoreGuard& guard) : clock_(clock), guard_(guard) {}

  // Proof of a lease with these terms that the store has just answered.
  std::string Make(const core::Lease& lease, const std::string& principal, const LeaseTerms& terms);

  // The lease as its proof says it was. Nothing if what is shown does not prove it.
  std::optional<ProvedTerms> Check(const core::ExtendRequest& shown);

  // The lease has been released by its principal, or forced out, whoever that is (no principal):
  // nothing proves it any more, here. Remembered for as long as a proof of it can be good, unless
  // there are more than kEndedLeasesMax of them.
  void Ended(const core::LeaseId& lease_id, std::string_view principal = "");

 private:
  using Digests = absl::flat_hash_set<uint64_t>;

  bool HasEnded(const core::LeaseId& lease_id, std::string_view principal) const;

  // Makes room for so many more.
  void ForgetOld(size_t more);

  const core::Clock& clock_;
  const StoreGuard& guard_;
  Reassertions reassertions_;
  Digests ended_;         // Since `half_end_` was set,
  Digests ended_before_;  // and in the time before.
  core::Instant half_end_;
};

}  // namespace lockkeeper::redis
