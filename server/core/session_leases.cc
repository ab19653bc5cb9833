// SPDX-License-Identifier: Apache-2.0
#include "core/session_leases.h"

#include <utility>

namespace lockkeeper::core {

size_t SessionLeases::HashOfKey::operator()(const Key& key) const {
  constexpr size_t kSpread = 0x9e3779b97f4a7c15U;
  const std::hash<std::string_view> hash;
  return hash(key.lease_id.digits()) * kSpread ^ hash(key.name);
}

void SessionLeases::Keep(const std::string& name, const LeaseId& lease_id, Millis ttl,
                         Instant end) {
  const auto known = by_key_.find({name, lease_id});
  if (known != by_key_.end()) Remove(known->second);
  std::list<Held>& order = by_ttl_[ttl];
  order.push_back({.name = name, .lease_id = lease_id, .ttl = ttl, .end = end});
  by_key_.emplace(Key{order.back().name, lease_id}, std::prev(order.end()));
}

bool SessionLeases::Drop(std::string_view name, const LeaseId& lease_id) {
  const auto known = by_key_.find({name, lease_id});
  if (known == by_key_.end()) return false;
  Remove(known->second);
  return true;
}

bool SessionLeases::Keeps(std::string_view name, const LeaseId& lease_id) const {
  return by_key_.contains({name, lease_id});
}

void SessionLeases::Remove(Ref held) {
  by_key_.erase({held->name, held->lease_id});
  const auto order = by_ttl_.find(held->ttl);
  if (held->extending) {
    held->dropped = true;
    dropped_.splice(dropped_.end(), order->second, held);
  } else {
    order->second.erase(held);
  }
  if (order->second.empty()) by_ttl_.erase(order);
}

std::optional<SessionLeases::Ref> SessionLeases::NextDue(Instant now) {
  for (auto& [ttl, order] : by_ttl_) {
    const Ref first = order.begin();
    // Those that are being extended stand behind all others.
    if (first->extending || (first->end - now) * 3 >= ttl * 2) continue;
    first->extending = true;
    order.splice(order.end(), order, first);
    return first;
  }
  return std::nullopt;
}

void SessionLeases::Extended(Ref held, Millis ttl, Instant end) {
  if (held->dropped) {
    dropped_.erase(held);
    return;
  }
  held->extending = false;
  held->end = end;
  const auto from = by_ttl_.find(held->ttl);
  std::list<Held>& to = by_ttl_[ttl];
  to.splice(to.end(), from->second, held);
  if (from->second.empty()) by_ttl_.erase(from);
  held->ttl = ttl;
}

void SessionLeases::Ended(Ref held) {
  if (held->dropped) {
    dropped_.erase(held);
    return;
  }
  held->extending = false;
  Remove(held);
}

void SessionLeases::NotExtended(Ref held) {
  if (held->dropped) {
    dropped_.erase(held);
    return;
  }
  held->extending = false;
  std::list<Held>& order = by_ttl_.find(held->ttl)->second;
  order.splice(order.begin(), order, held);
}

std::optional<SessionLeases::Held> SessionLeases::TakeAny() {
  if (by_ttl_.empty()) return std::nullopt;
  const Ref first = by_ttl_.begin()->second.begin();
  Held held{.name = first->name, .lease_id = first->lease_id, .ttl = first->ttl, .end = first->end};
  Remove(first);
  return held;
}

}  // namespace lockkeeper::core
