// SPDX-License-Identifier: Apache-2.0
//
// Notifications of the domain, which need no answer: telemetry turns them into log records and
// metrics.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "core/lock_event.h"
#include "core/requests.h"

namespace lockkeeper::core {

enum class WithdrawalEnd {
  kWithdrawn,   // A grant was taken back.
  kNotGranted,  // There was no grant to take back.
  kKept,        // A retry of the caller has taken the grant over.
  kLeftToTtl,   // The store did not confirm in time; the lease ends by its ttl.
};

enum class WaitEnd {
  kGranted,     // It has the lease.
  kOffered,     // It was offered the lock, which its client has yet to claim.
  kTimedOut,    // Its time was up, and it has left the line for certain.
  kCancelled,   // Somebody released its lease id.
  kCallerLeft,  // Its caller was gone before the answer.
  kDrained,     // This daemon stops; the place is kept for a retry elsewhere.
  kFailed,      // The store did not confirm how it ended.
};

// Thread-safety: called on the loop's thread; must not block.
class LockObserver {
 public:
  virtual ~LockObserver() = default;

  // A withdrawal has ended.
  virtual void OnWithdrawalEnded(std::string_view lock_name, WithdrawalEnd end) = 0;

  // An acquire stands in line, at this place; 0 if that is not known. Its wait is over, `waited`
  // after the acquire came. The two come in pairs, with the same keeper.
  virtual void OnWaitBegan(const AcquireRequest& /*request*/, int32_t /*position*/) {}
  virtual void OnWaitEnded(std::string_view /*lock_name*/, const Keeper& /*keeper*/,
                           WaitEnd /*end*/, Micros /*waited*/) {}

  // A lease was released by its holder.
  virtual void OnReleased(Micros /*held*/) {}

  // A grant followed a lease that had ended without a release. Once for each grant: an offer is
  // none before it is claimed, and a repeat is no other.
  virtual void OnExpiredLeaseReplaced(std::string_view lock_name, FencingToken token) = 0;

  // Whether somebody watches this lock. Only then an event is made of what happens to it.
  virtual bool IsWatched(std::string_view /*lock_name*/) const { return false; }
  virtual void OnEvent(LockEvent /*event*/) {}
};

}  // namespace lockkeeper::core
