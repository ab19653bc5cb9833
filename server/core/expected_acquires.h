// SPDX-License-Identifier: Apache-2.0
//
// The acquires that may wait and whose call to the store is in flight. Messages of the store may
// overtake its replies. What a message says of such an acquire is kept here until the reply has
// come.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/types.h"
#include "core/waiting_line.h"

namespace lockkeeper::core {

// What messages and callers said of an acquire before the reply of the store.
struct EarlyNews {
  std::optional<Offer> offer;
  bool released = false;   // Somebody released its lease id.
  bool abandoned = false;  // Its caller is gone.
};

// Several acquires may have the same lease id: retries. Each call takes constant time on average,
// however many acquires are expected. `SameId` compares lease ids; only a test replaces it.
//
// Thread-safety: not thread-safe.
template <typename SameId = std::equal_to<LeaseId>>
class ExpectedAcquires {
 public:
  // Requires: `keeper` names no acquire that is expected.
  void Add(const Keeper& keeper, const LeaseId& lease_id) {
    const auto [added, is_new] = by_keeper_.try_emplace(keeper);
    if (!is_new) return;
    Entry& entry = added->second;
    entry.lease_id = lease_id;
    Entry*& newest = newest_[lease_id];
    entry.older = newest;
    if (newest != nullptr) newest->newer = &entry;
    newest = &entry;
  }

  // Null if the acquire is not expected. Valid until Take().
  EarlyNews* Find(const Keeper& keeper) {
    const auto found = by_keeper_.find(keeper);
    return found == by_keeper_.end() ? nullptr : &found->second.news;
  }

  // The reply has come: removes the acquire. Nothing if it was not expected.
  std::optional<EarlyNews> Take(const Keeper& keeper) {
    const auto found = by_keeper_.find(keeper);
    if (found == by_keeper_.end()) return std::nullopt;
    Entry& entry = found->second;
    if (entry.older != nullptr) entry.older->newer = entry.newer;
    if (entry.newer != nullptr) {
      entry.newer->older = entry.older;
    } else if (entry.older != nullptr) {
      newest_.find(entry.lease_id)->second = entry.older;
    } else {
      newest_.erase(entry.lease_id);
    }
    EarlyNews news = std::move(entry.news);
    by_keeper_.erase(found);
    return news;
  }

  // Notes that all acquires of `lease_id` were released.
  void Release(const LeaseId& lease_id) {
    const auto found = newest_.find(lease_id);
    if (found == newest_.end()) return;
    for (Entry* entry = found->second; entry != nullptr; entry = entry->older) {
      entry->news.released = true;
    }
  }

 private:
  struct Entry {
    LeaseId lease_id;
    EarlyNews news;
    Entry* older = nullptr;  // Of the same lease id.
    Entry* newer = nullptr;
  };

  std::unordered_map<Keeper, Entry, HashOfHexId> by_keeper_;
  std::unordered_map<LeaseId, Entry*, HashOfHexId, SameId> newest_;
};

}  // namespace lockkeeper::core
