// SPDX-License-Identifier: Apache-2.0
//
// Members that are forgotten a fixed time after they were added.
#pragma once

#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>

#include "core/clock.h"

namespace lockkeeper::core {

// Thread-safety: not thread-safe. Cost of each call: constant on average.
template <typename T, typename Hash = std::hash<T>>
class ExpiringSet {
 public:
  explicit ExpiringSet(Micros lifetime) : lifetime_(lifetime) {}

  // Adds a member, or lets it stay for another lifetime from `now` on.
  void Add(const T& member, Instant now) {
    while (!in_order_.empty() && in_order_.front().first <= now) {
      const auto known = ends_.find(in_order_.front().second);
      if (known != ends_.end() && known->second <= now) ends_.erase(known);
      in_order_.pop_front();
    }
    ends_[member] = now + lifetime_;
    in_order_.emplace_back(now + lifetime_, member);
  }

  bool Has(const T& member, Instant now) const {
    const auto known = ends_.find(member);
    return known != ends_.end() && now < known->second;
  }

  // Takes a member out. False if it was not there.
  bool Take(const T& member, Instant now) {
    const bool had = Has(member, now);
    ends_.erase(member);
    return had;
  }

 private:
  const Micros lifetime_;
  std::unordered_map<T, Instant, Hash> ends_;
  std::deque<std::pair<Instant, T>> in_order_;
};

}  // namespace lockkeeper::core
