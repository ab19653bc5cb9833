// SPDX-License-Identifier: Apache-2.0
//
// Members that are forgotten a fixed time after they were added.
#pragma once

#include <functional>
#include <list>
#include <unordered_map>

#include "core/clock.h"

namespace lockkeeper::core {

// Thread-safety: not thread-safe. Cost of each call: constant on average.
template <typename T, typename Hash = std::hash<T>>
class ExpiringSet {
 public:
  explicit ExpiringSet(Micros lifetime) : lifetime_(lifetime) {}

  // Adds a member, or lets it stay for another lifetime from `now` on.
  void Add(const T& member, Instant now) {
    while (!in_order_.empty() && in_order_.front().end <= now) Erase(places_.find(FirstMember()));
    Erase(places_.find(member));
    const auto added = places_.emplace(member, in_order_.end()).first;
    added->second = in_order_.insert(in_order_.end(), {now + lifetime_, &added->first});
  }

  bool Has(const T& member, Instant now) const {
    const auto known = places_.find(member);
    return known != places_.end() && now < known->second->end;
  }

  // Takes a member out. False if it was not there.
  bool Take(const T& member, Instant now) {
    const bool had = Has(member, now);
    Erase(places_.find(member));
    return had;
  }

 private:
  struct Place {
    Instant end;
    const T* member;  // The key in `places_`.
  };
  using Places = std::unordered_map<T, typename std::list<Place>::iterator, Hash>;

  const T& FirstMember() const { return *in_order_.front().member; }

  void Erase(typename Places::iterator known) {
    if (known == places_.end()) return;
    in_order_.erase(known->second);
    places_.erase(known);
  }

  const Micros lifetime_;
  std::list<Place> in_order_;
  Places places_;
};

}  // namespace lockkeeper::core
