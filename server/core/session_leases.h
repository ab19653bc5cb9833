// SPDX-License-Identifier: Apache-2.0
//
// The leases that a session keeps alive, in such an order that a heartbeat finds those that are due
// without looking at the others: leases of one ttl stand in the order of their ends.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/types.h"

namespace lockkeeper::core {

// Thread-safety: loop-thread only.
class SessionLeases {
 public:
  struct Held {
    std::string name;
    LeaseId lease_id;
    Millis ttl{};
    Instant end;             // Its own, or somewhat earlier.
    bool extending = false;  // Between NextDue and what follows it.
    bool dropped = false;    // Meanwhile.
  };
  // Valid until the lease is dropped, or while it is being extended.
  using Ref = std::list<Held>::iterator;

  // Keeps a lease from `now` on, or anew. If it is not due it should not end long before others of
  // its ttl: its place is looked for from the latest end on.
  void Keep(const std::string& name, const LeaseId& lease_id, Millis ttl, Instant end, Instant now);

  // Keeps it no longer. False if it was not kept.
  bool Drop(std::string_view name, const LeaseId& lease_id);

  // It has ended, as was found meanwhile. One that is being extended stays, so that the heartbeat
  // that asked for it tells of it.
  void FoundEnded(std::string_view name, const LeaseId& lease_id);

  bool Keeps(std::string_view name, const LeaseId& lease_id) const;

  // A lease that is due, which has less than 2/3 of its ttl left at `now`; nothing if there is
  // none. It is being extended until one of the next three is called for it.
  std::optional<Ref> NextDue(Instant now);

  // It runs until `end` now, for `ttl`.
  void Extended(Ref held, Millis ttl, Instant end);

  // It has ended.
  void Ended(Ref held);

  // It is as it was, or cannot be extended any more. Call it once no more is asked for in this
  // round: it is due.
  void NotExtended(Ref held);

  // Takes any lease out, for ending it. Nothing if none is left.
  std::optional<Held> TakeAny();

  size_t size() const { return by_key_.size(); }

 private:
  static bool IsDue(const Held& held, Instant now);

  // A lease as it is asked for, and how to find it among those that are held.
  struct Key {
    std::string_view name;
    const LeaseId& lease_id;
    Key(std::string_view its_name, const LeaseId& its_id) : name(its_name), lease_id(its_id) {}
    Key(const Ref& held) : Key(held->name, held->lease_id) {}  // NOLINT: for the two below.
  };
  struct HashOfKey {
    using is_transparent = void;  // NOLINT: the standard library's name
    size_t operator()(const Key& key) const;
  };
  struct SameKey {
    using is_transparent = void;  // NOLINT: the standard library's name
    bool operator()(const Key& a, const Key& b) const {
      return a.lease_id == b.lease_id && a.name == b.name;
    }
  };

  // Takes it out of the table. It is destroyed, unless it is being extended.
  void Remove(Ref held);
  // Puts what stands in `from` where it belongs by its end, or before all others.
  void PlaceByEnd(std::list<Held>& from, Ref held);
  void PlaceFirst(std::list<Held>& from, Ref held);

  std::map<Millis, std::list<Held>> by_ttl_;  // Those that are due may stand in any order.
  std::list<Held> extending_;                 // Those that were dropped meanwhile too.
  std::unordered_set<Ref, HashOfKey, SameKey> by_key_;
};

}  // namespace lockkeeper::core
