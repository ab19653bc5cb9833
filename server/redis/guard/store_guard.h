// SPDX-License-Identifier: Apache-2.0
//
// The guard, as the operation queue sees it: it permits calls or holds them back, says what each
// call must find in the store, and is told how calls ended. NodeGuard is the real one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/lock_store.h"
#include "core/types.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

// Whether a call may give a lock to somebody new. kWhatWasTold: it restores what clients were told.
enum class Granting { kNothingNew, kAnew, kWhatWasTold };

// What a script call must find in the store, see scripts/frame.lua. Valid until the guard is called
// again.
struct CallPermit {
  int64_t token_floor = 0;  // No token below it is granted.
  std::string_view marker_key;
  // The stamp that the marker must have, a space, and how many beats it must have at least. Empty:
  // there must be no marker.
  std::string_view marker;
  std::string_view epoch = "0000000001";  // 10 digits.
  core::NodeTime grants_from;             // Nothing new is granted before.
  // The node's clock must read a time from earliest to latest.
  core::NodeTime earliest;
  core::NodeTime latest;
};

// What proofs of leases are made with.
struct ProofBasis {
  std::string_view key;          // Empty as long as none can be made.
  core::Micros clock_offset{};   // How far the node's clock is ahead of service time.
  core::Millis longest_lease{};  // With its lock_delay, of those that this store has granted.
  // Until then no lease is taken back: a server that was replaced may still end it, and give its
  // lock to somebody else.
  core::Micros isolation_left{0};
};

// What a script found when it refused a call.
enum class RefusedFor {
  kOther,      // Another marker, or a clock that does not fit.
  kOlderData,  // A marker with fewer beats than the call carries.
};

// Calls name their route only so that the guard can tell connections apart: in a Cluster each part
// is a store with a guard of its own.
//
// Thread-safety: loop-thread only.
class StoreGuard {
 public:
  virtual ~StoreGuard() = default;

  // Whether a call that keeps a lock closed for at most `closes_for` may be sent now. If not, the
  // guard is already asking the store, and will call `on_change`. Always true for a route without a
  // connection, which answers its calls.
  virtual bool Permits(Route route, core::Millis closes_for, Granting granting) = 0;

  // `on_change` runs when calls that were not permitted should ask again.
  virtual void SetListener(std::function<void()> on_change) = 0;

  // The permit of a call that keeps locks closed for at most `closes_for`. While nothing is known
  // of the store, it is one that every script rejects.
  virtual CallPermit Permit(Route route, core::Millis closes_for) const = 0;

  // A script refused a call that was sent at `sent` because of its permit, and did nothing.
  virtual void OnRefused(Route route, core::Instant sent, RefusedFor reason) = 0;

  // A call that was sent at `sent` was answered. False if the node's clock was set during the call:
  // the script may have decided by a wrong clock.
  [[nodiscard]] virtual bool OnAnswered(Route route, core::Instant sent, core::NodeTime node) = 0;

  // The store has confirmed this lease to a call that was sent at `sent`, so it must still have it
  // after a restart.
  virtual void OnConfirmed(Route route, core::Instant sent, const core::Lease& lease) = 0;

  // The store has granted or offered this token: the next ones are higher.
  virtual void OnToken(Route route, core::FencingToken token) = 0;

  // Why calls are held back, for people. Empty if they are not, or only for a moment.
  virtual std::string HeldBackBecause(Route route) const = 0;

  // Why nothing is granted. Requires: a script said so.
  virtual absl::Status Refusal(Route route) const = 0;

  // Ends the quarantine of this epoch, for all daemons; see core::AdminStore.
  virtual void EndQuarantine(int64_t epoch, core::Done<core::EndQuarantineAnswer> done) = 0;

  // Valid until the guard is called again.
  virtual ProofBasis proof_basis(Route route) const = 0;
};

}  // namespace lockkeeper::redis
