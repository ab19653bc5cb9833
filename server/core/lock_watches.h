// SPDX-License-Identifier: Apache-2.0
//
// Who watches locks at this daemon, and which other daemons want to hear what happens here. Costs a
// look at an empty list while nobody does.
//
// Each daemon tells what its own clients do. One that has watches says so to all others once a
// second, and they send it their events then, at the end of each turn of the loop. Events of one
// daemon are numbered, so that the other one knows when it misses some.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/lock_event.h"
#include "core/lock_store.h"
#include "core/watch_exchange.h"
#include "core/watched_leases.h"

namespace lockkeeper::core {

// Thread-safety: called on the loop's thread.
class WatchListener {
 public:
  virtual ~WatchListener() = default;

  // Must not close the watch.
  virtual void OnEvent(const LockEvent& event) = 0;

  // The watch is over, and is not called any more.
  virtual void OnEnd(const absl::Status& why) = 0;
};

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class LockWatches : private WatchExchangeListener {
 public:
  // `exchange`: null if there are no other daemons.
  LockWatches(std::string daemon_id, AdminStore& admin, WatchExchange* exchange, const Clock& clock,
              Executor& executor);
  ~LockWatches() override;
  LockWatches(const LockWatches&) = delete;
  LockWatches& operator=(const LockWatches&) = delete;

  // Whether anybody is to hear of this lock.
  bool Wants(std::string_view lock_name) const {
    return (!watches_.empty() || !receivers_.empty()) && IsWatched(lock_name);
  }

  // Something has happened to a lock, at this daemon.
  void OnEvent(LockEvent event);

  // A quarantine of the store began, and lasts so long; 0: it is over.
  void OnQuarantine(Micros left);

  // Begins to tell `listener`, who hears kStarted first: in at most two seconds, when all daemons
  // that are known have heard of the watch. `filter` of a name: its lease is known from the
  // beginning. `principal`: who is accounted for it. Errors: RATE_LIMIT, SERVER_DRAINING.
  absl::Status Open(const WatchFilter& filter, std::string principal, WatchListener& listener);

  // Does nothing if the listener has no watch.
  void Close(WatchListener& listener);

  // Ends all watches with SERVER_DRAINING. Other daemons still hear what happens here.
  void StartDraining();

  // Tells other daemons the rest, and that there is no more.
  void Stop();

 private:
  struct Watch {
    WatchFilter filter;
    std::string principal;
    WatchListener* listener;
    uint64_t version = 0;  // Of the interest that it was opened with.
    Instant opened;
    bool has_started = false;
  };
  // A daemon that wants to hear what happens here.
  struct Receiver {
    WatchFilters filters;
    uint64_t version = 0;
    Instant until;
    uint64_t stream = 0;
    uint64_t next = 0;  // Number of the next event.
    std::vector<LockEvent> pending;
    int in_flight = 0;
  };
  // A daemon that tells what happens there.
  struct Sender {
    uint64_t stream = 0;
    uint64_t version = 0;
    uint64_t next = 0;
    Instant heard;
  };
  using Receivers = std::unordered_map<std::string, Receiver>;

  bool IsWatched(std::string_view lock_name) const;
  bool IsWatchedHere(std::string_view lock_name) const;
  WatchFilters Filters() const;
  void Tell(const LockEvent& event);
  void TellGap(GapReason reason, int64_t missed);
  void TellGap(const Watch& watch, GapReason reason, int64_t missed);

  void OnInterest(WatchInterest interest) override;
  void OnBatch(EventBatch batch) override;

  void Beat();
  void Announce();
  void StartThoseThatCan();
  void EndWatching();
  void ReadLease(const Watch& watch);
  void ReadLease(const std::string& name);
  void Queue(const LockEvent& event);
  void FlushAtEndOfTurn();
  void Flush(const std::string& id, Receiver& receiver, bool is_last);
  void OnSent(const std::string& id, uint64_t stream);

  const std::string daemon_id_;
  AdminStore& admin_;
  WatchExchange* const exchange_;
  const Clock& clock_;
  Executor& executor_;
  WatchedLeases leases_;
  std::list<Watch> watches_;
  Receivers receivers_;
  std::unordered_map<std::string, Sender> senders_;
  std::set<std::string> unread_;  // Locks whose lease is to be read.
  Instant told_;                  // When all daemons were last told of the interest.
  std::unique_ptr<Timer> beat_;
  size_t daemons_ = 0;  // That were told of the newest watch, with this one. 0: not known.
  uint64_t version_ = 0;
  uint64_t streams_ = 0;
  bool flushing_ = false;
  bool draining_ = false;
  // False once this object is gone; late answers check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::core
