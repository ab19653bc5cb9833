// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/keyspace.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::support {
namespace {

// A key's place in an iteration: FNV-1a of its name in 48 bits, never 0.
uint64_t PlaceOf(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return (hash >> 16) | 1;
}

}  // namespace

bool Keyspace::IsOver(const Entry& entry) const {
  return entry.expires_at_ms && clock_.NowMillis() > *entry.expires_at_ms;
}

Value* Keyspace::Find(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  if (!IsOver(found->second)) return &found->second.value;
  entries_.erase(found);
  return nullptr;
}

Value& Keyspace::Put(std::string_view key, Value value, std::optional<int64_t> expires_at_ms) {
  auto found = entries_.find(key);
  if (found == entries_.end()) found = entries_.try_emplace(std::string(key)).first;
  found->second = {std::move(value), expires_at_ms};
  return found->second.value;
}

bool Keyspace::Erase(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  const bool lived = !IsOver(found->second);
  entries_.erase(found);
  return lived;
}

std::optional<int64_t> Keyspace::ExpiryOf(std::string_view key) const {
  return entries_.find(key)->second.expires_at_ms;
}

void Keyspace::SetExpiry(std::string_view key, int64_t expires_at_ms) {
  entries_.find(key)->second.expires_at_ms = expires_at_ms;
}

void Keyspace::Purge() {
  std::erase_if(entries_, [this](const auto& item) { return IsOver(item.second); });
}

size_t Keyspace::Count() {
  Purge();
  return entries_.size();
}

Keyspace::Page Keyspace::Scan(uint64_t cursor, size_t count) {
  Purge();
  std::vector<std::pair<uint64_t, std::string_view>> places;
  for (const auto& [key, entry] : entries_) {
    if (const uint64_t place = PlaceOf(key); place >= cursor) places.emplace_back(place, key);
  }
  std::sort(places.begin(), places.end());

  Page page;
  for (const auto& [place, key] : places) {
    // Keys that share a place share a page: the cursor cannot point between them.
    const bool same_place = !page.keys.empty() && PlaceOf(page.keys.back()) == place;
    if (page.keys.size() >= count && !same_place) {
      page.next_cursor = place;
      break;
    }
    page.keys.emplace_back(key);
  }
  return page;
}

}  // namespace lockkeeper::support
