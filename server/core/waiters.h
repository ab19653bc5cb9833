// SPDX-License-Identifier: Apache-2.0
//
// Where an acquire waits that cannot be granted at once: in the line that the store keeps (line.h),
// or in a line of this daemon if the store keeps none (local_fifo.h). All acquires and releases
// pass here, because any of them may concern an acquire that waits.
#pragma once

#include <cstddef>

#include "core/lock_observer.h"
#include "core/lock_store.h"
#include "core/requests.h"

namespace lockkeeper::core {

// Completion: every `done` runs exactly once, on the loop's thread, never before the call returned.
// Thread-safety: loop-thread only.
class Waiters {
 public:
  virtual ~Waiters() = default;

  // Asks the store for the lock, and waits for it up to wait_timeout. If the acquire fails, or its
  // caller is gone, what the store may have granted is withdrawn. After OUTCOME_UNKNOWN that is
  // still going on, unless a later attempt waits in its place. After SERVER_DRAINING a waiter keeps
  // its place in the line of the store. `request.deadline`: of the rpc.
  virtual void Acquire(AcquireRequest request, Done<AcquireAnswer> done) = 0;

  // Releases a lease, or ends the wait of a lease id. `request.deadline`: of the store's answer.
  virtual void Release(const ReleaseRequest& request, Done<ReleaseAnswer> done) = 0;

  // The caller of an acquire is gone: the acquire leaves the line, now or as soon as it stands
  // there. Does nothing if no acquire of this keeper waits.
  virtual void Abandon(const Keeper& keeper) = 0;

  // Ends all waits with SERVER_DRAINING, also those that begin with the reply to a call in flight.
  virtual void StartDraining() = 0;

  // Acquires that stand in line.
  virtual size_t waiting() const = 0;
};

// How a wait with this answer ended.
WaitEnd WaitEndOf(const absl::StatusOr<AcquireAnswer>& answer);

}  // namespace lockkeeper::core
