// SPDX-License-Identifier: Apache-2.0
//
// What this daemon has told its clients of leases, as far as it is not over: what it has to restore
// in a store that may have forgotten some of it (ADR 0036).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/requests.h"
#include "redis/format/reassertion.h"

namespace lockkeeper::redis {

struct ToldLease {
  std::string name;
  core::LeaseId lease_id;
  core::FencingToken token;
  std::string principal;
  ProvedTerms terms;
  // By this daemon's clock, at the latest: when the lease ends, and until when hold_at_least keeps
  // its lock closed.
  core::Instant end;
  core::Instant hold_end;
  // Of the call or session to which it was granted, and of the session that has adopted it since.
  core::Keeper keeper;
  std::optional<core::Keeper> adopter;

  // When its lock may be given to somebody else.
  core::Instant ClosedUntil() const { return std::max(end + terms.lock_delay, hold_end); }
};

// Thread-safety: not thread-safe.
class ToldLeases {
 public:
  // Its client is told of this lease now, or of its later end. It is told of no earlier one.
  void Told(ToldLease lease, core::Instant now);

  // The lease was released by `principal`, or forced out (no principal).
  void Ended(const core::LeaseId& lease_id, std::string_view principal, core::Instant now);

  // A grant is taken back of which its client was not told.
  void Withdrawn(const core::WithdrawRequest& request);

  // A lease was forced out, of which its client has not heard: whatever is restored of it, by
  // anyone, is over at `until`.
  void ForcedOut(core::Instant until) { more_until_ = std::max(more_until_, until); }

  // Those whose locks are not free at `now`, by their tokens.
  std::vector<ToldLease> Live(core::Instant now);

  // Until then more may have been told than this knows: leases that did not find room (see
  // limits::kToldLeasesMax), or that one was forced out.
  core::Instant more_until() const { return more_until_; }

 private:
  void MakeRoom(core::Instant now);

  absl::flat_hash_map<core::LeaseId, ToldLease, core::HashOfHexId> leases_;
  size_t look_at_ = 1'024;  // With so many leases those are looked for that are over,
  core::Instant look_again_ = core::Instant::min();  // but not before.
  core::Instant more_until_ = core::Instant::min();
};

}  // namespace lockkeeper::redis
