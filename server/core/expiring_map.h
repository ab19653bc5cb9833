// SPDX-License-Identifier: Apache-2.0
//
// A map whose entries expire a fixed time after they were put in.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/clock.h"

namespace lockkeeper::core {

// Thread-safety: not thread-safe. Cost of each call: constant on average.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class ExpiringMap {
 public:
  explicit ExpiringMap(Micros lifetime) : lifetime_(lifetime) {}

  // Adds or replaces an entry. It expires a whole lifetime after `now`.
  void Put(const Key& key, Value value, Instant now) {
    ForgetUntil(now);
    Erase(places_.find(key));
    const auto added = places_.emplace(key, in_order_.end()).first;
    added->second =
        in_order_.insert(in_order_.end(), {now + lifetime_, &added->first, std::move(value)});
  }

  size_t size(Instant now) {
    ForgetUntil(now);
    return places_.size();
  }

  // Null if there is no entry. Valid until the next call that changes the map.
  const Value* Find(const Key& key, Instant now) const {
    const auto known = places_.find(key);
    return known != places_.end() && now < known->second->end ? &known->second->value : nullptr;
  }

  // Removes and returns an entry. Nothing if there is none.
  std::optional<Value> Take(const Key& key, Instant now) {
    const Value* const value = Find(key, now);
    std::optional<Value> taken;
    if (value != nullptr) taken = *value;
    Erase(places_.find(key));
    return taken;
  }

 private:
  struct Entry {
    Instant end;
    const Key* key;  // In `places_`.
    Value value;
  };
  using Places = std::unordered_map<Key, typename std::list<Entry>::iterator, Hash>;

  void ForgetUntil(Instant now) {
    while (!in_order_.empty() && in_order_.front().end <= now) Erase(places_.find(FirstKey()));
  }

  const Key& FirstKey() const { return *in_order_.front().key; }

  void Erase(typename Places::iterator known) {
    if (known == places_.end()) return;
    in_order_.erase(known->second);
    places_.erase(known);
  }

  const Micros lifetime_;
  std::list<Entry> in_order_;
  Places places_;
};

}  // namespace lockkeeper::core
