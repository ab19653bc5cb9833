// SPDX-License-Identifier: Apache-2.0
//
// The lock store on one Redis node, which has a line of waiters: writes requests as arguments of
// the scripts and reads their replies. What happens to a lock is in scripts/*.lua; order, batches
// and deadlines are in operation_queue.
#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"
#include "core/limits.h"
#include "core/lock_store.h"
#include "core/waiting_line.h"
#include "redis/format/line_message.h"
#include "redis/guard/guard_observer.h"
#include "redis/guard/store_guard.h"
#include "redis/known_lines.h"
#include "redis/lease_proofs.h"
#include "redis/node/node.h"
#include "redis/operation_queue.h"
#include "redis/told_leases.h"

namespace lockkeeper::redis {

struct RedisLockStoreOptions {
  // Random id of this start of the daemon, 16 hex digits: names its channel and its waiters.
  std::string daemon_id;
  // Waiters that the line of one lock may have.
  int32_t waiters_per_lock_max = core::limits::kWaitersPerLockDefault;
};

// Contract: see the two ports. Lifetime: borrows its collaborators.
class RedisLockStore : public core::LockStore, public core::WaitingLine {
 public:
  // `guard`: the queue's.
  // `told`: null if nothing of it is to be restored.
  RedisLockStore(Node& node, StoreGuard& guard, OperationQueue& queue, LeaseProofs& proofs,
                 ToldLeases* told, const core::Clock& clock, GuardObserver& observer,
                 RedisLockStoreOptions options);

  // Of acquires that come from now on; those that stand in line stay.
  void SetWaitersPerLockMax(int32_t most) { options_.waiters_per_lock_max = most; }

  void Acquire(const core::AcquireRequest& request, core::Done<core::AcquireAnswer> done) override;
  void Extend(const core::ExtendRequest& request, core::Done<core::Lease> done) override;
  void Release(const core::ReleaseRequest& request, core::Done<core::ReleaseAnswer> done) override;
  void Confirm(const std::string& name, core::Assurance wanted, core::Instant deadline,
               core::ConfirmDone done) override;
  void Withdraw(const core::WithdrawRequest& request,
                core::Done<core::WithdrawResult> done) override;
  void Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) override;

  void Stand(const core::AcquireRequest& request, int64_t old_number,
             core::Done<core::AcquireOutcome> done) override;
  void Poll(const core::PollRequest& request, core::Done<core::PollAnswer> done) override;
  void Leave(const std::string& name, core::Instant deadline) override;
  void Listen(core::LineListener& listener) override { listener_ = &listener; }

  // A script has sent this daemon a message about one of its waiters.
  void OnLineMessage(const LineMessage& message);

 private:
  // `place`: the last argument of acquire.lua for the lock. Outcome: that of Acquire or of Stand.
  template <typename Outcome>
  void SubmitAcquire(const core::AcquireRequest& request, std::string place, Rank rank,
                     core::Done<Outcome> done);
  // `mode`: a letter of poll.lua.
  void SubmitPoll(const core::PollRequest& request, std::string_view mode, int64_t unpark_from,
                  core::Done<core::PollAnswer> done);
  // What poll.lua has answered. Remembers what is left to do, if the daemon polled for its waiters.
  core::PollAnswer ReadPoll(const OperationReply& reply, bool for_waiters);

  LineKey LineKeyOf(const std::string& name);
  LineKey LineKeyOfExtend(const core::ExtendRequest& request);
  // The extend of a lease id was answered. If that claimed an offer, the offer is over.
  void ForgetOffer(std::string_view name, const core::LeaseId& lease_id, bool is_lapsed);

  // `closes_for`: the longest time for which the extend may keep the lock closed.
  void ExtendWithin(const core::ExtendRequest& request, core::Millis closes_for, Rank rank,
                    core::Done<core::Lease> done);
  // The store may have forgotten the lease: takes it back if the request proves it.
  void Reassert(Route route, const core::ExtendRequest& request, core::Done<core::Lease> done);
  // Reads the lease in a reply, of which a client is told, and adds its proof. `keeper` and
  // `adopter`: see ToldLease.
  core::Lease ReadLease(const OperationReply& reply, const core::LeaseId& lease_id,
                        const std::string& principal, const core::Keeper& keeper,
                        const std::optional<core::Keeper>& adopter);

  // Counts that a script granted nothing because the store may have forgotten leases, and returns
  // the error for it.
  absl::Status Refused(Route route);

  // Notes an offer of a script, and adds to it what only the daemon knows.
  void OnOffer(Route route, core::Offer& offer);

  // Continues a hand-over that has more dead waiters to skip than one script call may.
  void GoOnHandingOver(const std::string& name);

  Node& node_;
  StoreGuard& guard_;
  OperationQueue& queue_;
  LeaseProofs& proofs_;
  ToldLeases* const told_;
  const core::Clock& clock_;
  GuardObserver& observer_;
  RedisLockStoreOptions options_;
  KnownLines lines_;
  core::LineListener* listener_ = nullptr;
};

}  // namespace lockkeeper::redis
