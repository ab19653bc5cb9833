// SPDX-License-Identifier: Apache-2.0
//
// What stands between operations and a store that may have forgotten leases: it says which calls
// may go now and what each has to find in the store, and hears how calls ended. NodeGuard is the
// daemon's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/requests.h"
#include "core/types.h"

namespace lockkeeper::redis {

// Whether a call may give a lock to somebody new.
enum class Granting { kNothingNew, kAnew };

// What a script call carries for the guard, see scripts/frame.lua. Valid until the guard is called
// again.
struct CallPermit {
  int64_t token_floor = 0;  // No token below it is granted.
  std::string_view marker_key;
  // What the marker has to have: its stamp, a space, and at least so many beats. Empty: there must
  // be no marker.
  std::string_view marker;
  std::string_view epoch = "0000000001";  // 10 digits.
  core::NodeTime grants_from;             // Nothing new is granted before.
  core::NodeTime earliest;                // The node's clock has to read
  core::NodeTime latest;                  // something in between.
};

// What proofs of leases are made with.
struct ProofBasis {
  std::string_view key;          // Empty as long as none can be made.
  core::Micros clock_offset{};   // How far the node's clock is ahead of service time.
  core::Millis longest_lease{};  // With its lock_delay, of those that this store has granted.
};

// Thread-safety: loop-thread only.
class StoreGuard {
 public:
  virtual ~StoreGuard() = default;

  // Whether a call may go on `lane` now that keeps a lock closed for `closes_for` at most. If not,
  // what is missing is under way, and `on_change` will be called. A lane without a connection may
  // always be asked: it answers so.
  virtual bool Permits(size_t lane, core::Millis closes_for, Granting granting) = 0;

  // `on_change`: whoever was not permitted should ask again.
  virtual void SetListener(std::function<void()> on_change) = 0;

  // What a call has to carry that keeps locks closed for `closes_for` at most. As long as nothing
  // is known of the store: one that every script refuses.
  virtual CallPermit Permit(core::Millis closes_for) const = 0;

  // A script refused a call because of its permit, and did nothing.
  virtual void OnRefused(size_t lane) = 0;
  // The same, of one that was sent at `sent`: the store has an older marker than this daemon knows.
  virtual void OnOlderData(size_t lane, core::Instant sent) = 0;

  // A call that was sent at `sent` has just been answered. False if the node's clock was set while
  // it was under way: what the script did may have been done by a wrong clock.
  [[nodiscard]] virtual bool OnAnswered(size_t lane, core::Instant sent, core::NodeTime node) = 0;

  // The store has confirmed that a lease runs: it must not forget that.
  virtual void OnConfirmed(const core::Lease& lease) = 0;

  // The store has granted or offered this token: the next ones are higher.
  virtual void OnToken(core::FencingToken token) = 0;

  // Why calls are held back, for people; empty if they are not, or for no more than a moment.
  virtual std::string HeldBackBecause() const = 0;

  // Why nothing is granted. Requires: a script said so.
  virtual absl::Status Refusal() const = 0;

  // Valid until the guard is called again.
  virtual ProofBasis proof_basis() const = 0;
};

}  // namespace lockkeeper::redis
