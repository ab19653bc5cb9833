// SPDX-License-Identifier: Apache-2.0
#include "core/session_leases.h"

#include <utility>

namespace lockkeeper::core {

size_t SessionLeases::HashOfKey::operator()(const Key& key) const {
  constexpr size_t kSpread = 0x9e3779b97f4a7c15U;
  const std::hash<std::string_view> hash;
  return hash(key.lease_id.digits()) * kSpread ^ hash(key.name);
}

bool SessionLeases::IsDue(const Held& held, Instant now) {
  return (held.end - now) * 3 < held.ttl * 2;
}

void SessionLeases::Keep(const std::string& name, const LeaseId& lease_id, Millis ttl, Instant end,
                         Instant now) {
  const auto known = by_key_.find(Key(name, lease_id));
  if (known != by_key_.end()) Remove(*known);
  std::list<Held> one{{.name = name, .lease_id = lease_id, .ttl = ttl, .end = end}};
  const Ref held = one.begin();
  by_key_.insert(held);
  IsDue(*held, now) ? PlaceFirst(one, held) : PlaceByEnd(one, held);
}

void SessionLeases::PlaceFirst(std::list<Held>& from, Ref held) {
  std::list<Held>& order = by_ttl_[held->ttl];
  order.splice(order.begin(), from, held);
}

void SessionLeases::PlaceByEnd(std::list<Held>& from, Ref held) {
  std::list<Held>& order = by_ttl_[held->ttl];
  Ref behind = order.end();
  while (behind != order.begin() && std::prev(behind)->end > held->end) --behind;
  order.splice(behind, from, held);
}

bool SessionLeases::Drop(std::string_view name, const LeaseId& lease_id) {
  const auto known = by_key_.find(Key(name, lease_id));
  if (known == by_key_.end()) return false;
  Remove(*known);
  return true;
}

void SessionLeases::FoundEnded(std::string_view name, const LeaseId& lease_id) {
  const auto known = by_key_.find(Key(name, lease_id));
  if (known != by_key_.end() && !(*known)->extending) Remove(*known);
}

bool SessionLeases::Keeps(std::string_view name, const LeaseId& lease_id) const {
  return by_key_.contains(Key(name, lease_id));
}

void SessionLeases::Remove(Ref held) {
  by_key_.erase(held);
  if (held->extending) {
    held->dropped = true;
    return;
  }
  const auto order = by_ttl_.find(held->ttl);
  order->second.erase(held);
  if (order->second.empty()) by_ttl_.erase(order);
}

std::optional<SessionLeases::Ref> SessionLeases::NextDue(Instant now) {
  for (auto at = by_ttl_.begin(); at != by_ttl_.end(); ++at) {
    std::list<Held>& order = at->second;
    const Ref first = order.begin();
    if (!IsDue(*first, now)) continue;
    first->extending = true;
    extending_.splice(extending_.end(), order, first);
    if (order.empty()) by_ttl_.erase(at);
    return first;
  }
  return std::nullopt;
}

void SessionLeases::Extended(Ref held, Millis ttl, Instant end) {
  if (held->dropped) {
    extending_.erase(held);
    return;
  }
  held->extending = false;
  held->ttl = ttl;
  held->end = end;
  PlaceByEnd(extending_, held);
}

void SessionLeases::Ended(Ref held) {
  if (!held->dropped) by_key_.erase(held);
  extending_.erase(held);
}

void SessionLeases::NotExtended(Ref held) {
  if (held->dropped) {
    extending_.erase(held);
    return;
  }
  held->extending = false;
  PlaceFirst(extending_, held);
}

std::optional<SessionLeases::Held> SessionLeases::TakeAny() {
  if (by_key_.empty()) return std::nullopt;
  const Ref any = by_ttl_.empty() ? *by_key_.begin() : by_ttl_.begin()->second.begin();
  Held held{.name = any->name, .lease_id = any->lease_id, .ttl = any->ttl, .end = any->end};
  Remove(any);
  return held;
}

}  // namespace lockkeeper::core
