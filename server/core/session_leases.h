// SPDX-License-Identifier: Apache-2.0
//
// The leases that a session keeps alive, ordered by when they are due, so that a heartbeat looks
// only at those that are due.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/indexed_heap.h"
#include "core/types.h"

namespace lockkeeper::core {

// Thread-safety: loop-thread only.
class SessionLeases {
 public:
  struct Held {
    std::string name;
    LeaseId lease_id;
    FencingToken token;
    Keeper keeper;  // The one that it had when this session got it.
    Millis ttl{};
    Instant end;             // As the session knows it: at most 10 ms after the real end.
    bool counts = false;     // Whether LeaseCount::Kept has counted it.
    bool extending = false;  // From NextDue to Extended, Ended or NotExtended.
    bool dropped = false;    // While it was being extended.
    Instant due;             // When 2/3 of its ttl are left.
    size_t heap_place = 0;

    // By name if they are due at the same time.
    bool IsDueBefore(const Held& other) const {
      return std::tie(due, name, lease_id) < std::tie(other.due, other.name, other.lease_id);
    }
  };
  // Valid until the lease is dropped, or while it is being extended.
  using Ref = Held*;

  // What is left of a lease that is not kept any more.
  struct Dropped {
    explicit Dropped(const Held& held) : end(held.end), counts(held.counts) {}
    Instant end;
    bool counts;
  };

  // Adds or replaces a lease.
  Ref Keep(const std::string& name, const LeaseId& lease_id, FencingToken token,
           const Keeper& keeper, Millis ttl, Instant end);

  // Drops a lease. Nothing if it was not kept.
  std::optional<Dropped> Drop(std::string_view name, const LeaseId& lease_id);

  // An operation has found that the lease has ended. A lease that is being extended stays, so that
  // the heartbeat in progress reports it. Nothing if it stays, or was not kept.
  std::optional<Dropped> FoundEnded(std::string_view name, const LeaseId& lease_id);

  // Null if the lease is not kept. Valid until it is replaced, dropped or found ended.
  const Held* Find(std::string_view name, const LeaseId& lease_id) const;

  // A lease that is due: it has less than 2/3 of its ttl left at `now`. Nothing if there is none.
  // It is being extended until one of the next three is called for it.
  std::optional<Ref> NextDue(Instant now);

  // The lease was extended by `ttl`, until `end`.
  void Extended(Ref held, Millis ttl, Instant end);

  // It has ended.
  void Ended(Ref held);

  // The lease was not extended. Call it after the last NextDue of this heartbeat, because the lease
  // is still due.
  void NotExtended(Ref held);

  // Removes any one lease, to end it. Nothing if none is left.
  std::optional<Held> TakeAny();

  // In no order. `visit` must not change the leases.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const Owned& held : by_key_) visit(*held);
  }

  size_t size() const { return by_key_.size(); }

 private:
  using Owned = std::unique_ptr<Held>;

  // The key of a lease in the set of leases.
  struct Key {
    std::string_view name;
    const LeaseId& lease_id;
    Key(std::string_view its_name, const LeaseId& its_id) : name(its_name), lease_id(its_id) {}
    Key(const Owned& held) : Key(held->name, held->lease_id) {}  // NOLINT: for the two below.
  };
  struct HashOfKey {
    using is_transparent = void;
    size_t operator()(const Key& key) const;
  };
  struct SameKey {
    using is_transparent = void;
    bool operator()(const Key& a, const Key& b) const {
      return a.lease_id == b.lease_id && a.name == b.name;
    }
  };
  using Table = std::unordered_set<Owned, HashOfKey, SameKey>;

  void Remove(Table::iterator known);
  // Erases a lease that was dropped while it was being extended. False if it was not dropped.
  bool EraseIfDropped(Ref held);
  void InsertByDueTime(Held& held);

  Table by_key_;
  IndexedHeap<Held> due_;                   // Those that are not being extended.
  std::unordered_map<Ref, Owned> dropped_;  // Those that were dropped while being extended.
};

}  // namespace lockkeeper::core
