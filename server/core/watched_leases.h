// SPDX-License-Identifier: Apache-2.0
//
// The leases of the locks that somebody watches at this daemon. Completes events by what earlier
// ones told, and finds leases that end without anybody's doing: nobody else sees that happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/clock.h"
#include "core/executor.h"
#include "core/indexed_heap.h"
#include "core/limits.h"
#include "core/lock_event.h"
#include "core/lock_store.h"

namespace lockkeeper::core {

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class WatchedLeases {
 public:
  // `tell` hears of each event, completed as far as that is possible; it must not call this object.
  // The leases of at most `locks_max` locks are followed.
  WatchedLeases(AdminStore& admin, const Clock& clock, Executor& executor,
                std::function<void(const LockEvent&)> tell,
                size_t locks_max = limits::kWatchedLocksMax);
  ~WatchedLeases();
  WatchedLeases(const WatchedLeases&) = delete;
  WatchedLeases& operator=(const WatchedLeases&) = delete;

  // Something happened to a lock. Tells it, after the expiry that it shows.
  void Take(LockEvent event);

  // A lock as the store has it, when the watch of it begins or has missed something: its events can
  // be completed, and its expiry is found.
  void Learn(const LockInfo& lock);

  // Forgets the locks that nobody watches any more.
  void KeepOnly(const WatchFilters& filters);

 private:
  struct Lease {
    FencingToken token;   // 0: no lease is known.
    uint64_t number = 0;  // See LockEvent::lease.
    std::string owner;
    std::string principal;
    Micros waited{};
    bool is_offer = false;
    bool has_ended = false;
    bool is_behind = false;  // A newer lease has ended, of which nothing was heard.
    Instant end;             // At the earliest: heartbeats extend it unheard.
  };
  struct Lock {
    bool IsDueBefore(const Lock& other) const {
      return due != other.due ? due < other.due : *name < *other.name;
    }
    // Whether it is in `by_due_`.
    bool is_looked_at() const { return due != Instant::max(); }

    const std::string* name = nullptr;  // Its key in `locks_`.
    Lease newest;
    Lease former;                  // The one before, whose last news may come late.
    Lease lapsed;                  // The offer after that, of which the same is true.
    Instant due = Instant::max();  // When to look at it.
    size_t heap_place = 0;
  };
  using Locks = std::unordered_map<std::string, Lock>;

  using LeaseKey = std::pair<uint64_t, std::string>;  // Its number, and the lock.

  void TakeLease(LockEvent& event);
  void TakeGrant(LockEvent& event);
  void TakeExtend(LockEvent& event);
  void TakeEnd(LockEvent& event);
  void Complete(LockEvent& event, const Lease& lease) const;
  void TellExpired(const std::string& name, Lease& lease);
  void TellPreviousExpired(Lock& lock);
  void KeepEarlyEnd(const LockEvent& event);
  void ForgetEarlyEnds();
  std::optional<LockEvent> EarlyEndOf(const LockEvent& event);
  void Replace(Lock& lock, const LockEvent& event);
  void Supersede(Lock& lock, Lease next);
  void Prolong(Lock& lock, Micros remaining);
  // Null if there are too many locks already.
  Lock* FindOrAdd(const std::string& name);
  void LookAt(Lock& lock, Instant due);
  void Forget(Locks::iterator lock);
  // Of a lease that was not released.
  void KeepEnded(Lock& lock);
  void SetTimer();
  void OnTimer();
  void Look(Lock& lock);
  void Read(Lock& lock);
  void OnRead(const std::string& name, FencingToken token,
              const absl::StatusOr<std::optional<LockInfo>>& read);
  void OnLive(Lock& lock, const LockInfo& info);
  void OnEnded(Lock& lock, const LockInfo& info);
  void OnForgotten(Lock& lock);
  void TellGap(const Lock& lock);
  static LockEvent OfNewest(LockEventKind kind, const Lock& lock);

  AdminStore& admin_;
  const Clock& clock_;
  Executor& executor_;
  const std::function<void(const LockEvent&)> tell_;
  const size_t locks_max_;
  Locks locks_;
  IndexedHeap<Lock> by_due_;
  std::unique_ptr<Timer> timer_;
  Instant timer_at_ = Instant::max();
  Instant look_from_ = Instant::min();  // At what is due.
  size_t reads_ = 0;
  // Releases that came before their grant, from another daemon.
  std::set<LeaseKey> early_ends_;
  std::deque<std::pair<Instant, LeaseKey>> early_ends_by_age_;
  // False once this object is gone; late answers check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::core
