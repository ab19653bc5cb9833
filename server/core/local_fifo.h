// SPDX-License-Identifier: Apache-2.0
//
// The acquires of this daemon that wait for locks of a store without a line of its own. Each lock
// has a line in this daemon, in order of arrival. Only the first in line asks the store: when the
// lock is due to be free, when a lease of it was released over this daemon, and from time to time,
// since other daemons release too. So the line is fair within this daemon; between daemons, who
// asks first gets the lock.
//
// The daemon has no such store yet, and Redis keeps lines itself. This is here, and not with the
// tests, because waiting belongs to the domain: a store that is added (a quorum) need not bring it.
// The contract suite and the simulator run it with the store in tests/support/memory_store.h.
//
// An acquire that finds a line stands behind it without asking the store. One that is a retry asks:
// it may hold the lock already.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/call_deadlines.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/lock_observer.h"
#include "core/lock_store.h"
#include "core/requests.h"
#include "core/waiters.h"
#include "core/withdrawals.h"

namespace lockkeeper::core {

// Contract: see Waiters. Lifetime: borrows its collaborators.
class LocalFifo : public Waiters {
 public:
  // `request_timeout`: see CallDeadlines.
  LocalFifo(LockStore& store, const Clock& clock, Executor& executor, Withdrawals& withdrawals,
            LockObserver& observer, Millis request_timeout);
  ~LocalFifo() override;
  LocalFifo(const LocalFifo&) = delete;
  LocalFifo& operator=(const LocalFifo&) = delete;

  // How often the first in line asks the store while nothing says when the lock will be free.
  static constexpr Millis kRetryInterval{250};

  void Acquire(AcquireRequest request, Done<AcquireAnswer> done) override;
  void Release(const ReleaseRequest& request, Done<ReleaseAnswer> done) override;
  void Abandon(const Keeper& keeper) override;
  void StartDraining() override;
  size_t waiting() const override { return by_keeper_.size(); }

 private:
  struct Queue;
  struct Waiter;

  void Try(AcquireRequest request, Done<AcquireAnswer> done);
  void OnTried(AcquireRequest request, Instant arrived, absl::StatusOr<AcquireAnswer> answer,
               Done<AcquireAnswer> done);
  void Join(AcquireRequest request, Instant arrived, Done<AcquireAnswer> done);
  bool TakeOver(Queue& queue, AcquireRequest& request, Done<AcquireAnswer>& done);
  void Begin(Waiter& waiter);
  void AskAfter(Queue& queue, Micros delay);
  void AskWhenFree(Queue& queue);
  void Ask(Queue& queue);
  void OnAsked(const std::string& name, const Keeper& keeper, absl::StatusOr<AcquireAnswer> answer);
  void OnRefused(Queue& queue, const absl::Status& error);
  void OnReleased(const ReleaseRequest& request, ReleaseAnswer& answer);

  // Ends the wait: now, or with the reply of the store if that is being asked for this waiter.
  void End(Waiter& waiter);
  absl::StatusOr<AcquireAnswer> AnswerAtEnd(const Waiter& waiter) const;
  Contention SeenIn(const Queue& queue) const;
  std::unique_ptr<Waiter> TakeOut(Waiter& waiter);
  void Answer(Waiter& waiter, absl::StatusOr<AcquireAnswer> answer);
  void AnswerLater(Done<AcquireAnswer> done, absl::StatusOr<AcquireAnswer> answer);
  void Report(const Waiter& waiter, const absl::StatusOr<AcquireAnswer>& answer);
  bool IsAsked(const Waiter& waiter) const;
  Queue* Find(const std::string& name);

  LockStore& store_;
  const Clock& clock_;
  Executor& executor_;
  Withdrawals& withdrawals_;
  LockObserver& observer_;
  const CallDeadlines deadlines_;
  std::unordered_map<std::string, std::unique_ptr<Queue>> queues_;
  std::unordered_map<Keeper, Waiter*, HashOfHexId> by_keeper_;
  // The acquires that may wait and whose first call to the store is in flight. True: the caller is
  // gone.
  std::unordered_map<Keeper, bool, HashOfHexId> tried_;
  bool draining_ = false;
  // False once this object is gone; late answers check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::core
