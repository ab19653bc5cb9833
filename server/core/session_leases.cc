// SPDX-License-Identifier: Apache-2.0
#include "core/session_leases.h"

#include <utility>

namespace lockkeeper::core {

size_t SessionLeases::HashOfKey::operator()(const Key& key) const {
  constexpr size_t kSpread = 0x9e3779b97f4a7c15U;
  const std::hash<std::string_view> hash;
  return hash(key.lease_id.digits()) * kSpread ^ hash(key.name);
}

SessionLeases::Ref SessionLeases::Keep(const std::string& name, const LeaseId& lease_id,
                                       FencingToken token, const Keeper& keeper, Millis ttl,
                                       Instant end) {
  auto held = std::make_unique<Held>();
  const auto known = by_key_.find(Key(name, lease_id));
  if (known != by_key_.end()) {
    held->counts = (*known)->counts;
    Remove(known);
  }
  held->name = name;
  held->lease_id = lease_id;
  held->token = token;
  held->keeper = keeper;
  held->ttl = ttl;
  held->end = end;
  InsertByDueTime(*held);
  const Ref ref = held.get();
  by_key_.insert(std::move(held));
  return ref;
}

std::optional<SessionLeases::Dropped> SessionLeases::Drop(std::string_view name,
                                                          const LeaseId& lease_id) {
  const auto known = by_key_.find(Key(name, lease_id));
  if (known == by_key_.end()) return std::nullopt;
  const Dropped dropped(**known);
  Remove(known);
  return dropped;
}

std::optional<SessionLeases::Dropped> SessionLeases::FoundEnded(std::string_view name,
                                                                const LeaseId& lease_id) {
  const auto known = by_key_.find(Key(name, lease_id));
  if (known == by_key_.end() || (*known)->extending) return std::nullopt;
  const Dropped dropped(**known);
  Remove(known);
  return dropped;
}

const SessionLeases::Held* SessionLeases::Find(std::string_view name,
                                               const LeaseId& lease_id) const {
  const auto known = by_key_.find(Key(name, lease_id));
  return known == by_key_.end() ? nullptr : known->get();
}

void SessionLeases::Remove(Table::iterator known) {
  Owned held = std::move(by_key_.extract(known).value());
  if (!held->extending) {
    due_.Remove(*held);
    return;
  }
  held->dropped = true;
  const Ref ref = held.get();
  dropped_.emplace(ref, std::move(held));
}

std::optional<SessionLeases::Ref> SessionLeases::NextDue(Instant now) {
  if (due_.empty() || due_.First().due >= now) return std::nullopt;
  Held& held = due_.First();
  due_.Remove(held);
  held.extending = true;
  return &held;
}

void SessionLeases::InsertByDueTime(Held& held) {
  held.due = held.end - Micros(held.ttl) * 2 / 3;
  due_.Add(held);
}

bool SessionLeases::EraseIfDropped(Ref held) { return dropped_.erase(held) > 0; }

void SessionLeases::Extended(Ref held, Millis ttl, Instant end) {
  if (EraseIfDropped(held)) return;
  held->extending = false;
  held->ttl = ttl;
  held->end = end;
  InsertByDueTime(*held);
}

void SessionLeases::Ended(Ref held) {
  if (!EraseIfDropped(held)) by_key_.erase(by_key_.find(Key(held->name, held->lease_id)));
}

void SessionLeases::NotExtended(Ref held) {
  if (EraseIfDropped(held)) return;
  held->extending = false;
  InsertByDueTime(*held);
}

std::optional<SessionLeases::Held> SessionLeases::TakeAny() {
  if (by_key_.empty()) return std::nullopt;
  const auto any = by_key_.begin();
  Held held = **any;
  Remove(any);
  return held;
}

}  // namespace lockkeeper::core
