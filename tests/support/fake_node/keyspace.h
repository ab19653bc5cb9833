// SPDX-License-Identifier: Apache-2.0
//
// The keys of one in-process node, with their values and their expiry by the node's clock. An
// expired key is gone for every reader at once, as in Redis; its memory is freed when the key is
// next touched or when keys are counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "support/fake_node/node_clock.h"
#include "support/fake_node/sorted_set.h"
#include "support/fake_node/string_map.h"

namespace lockkeeper::support {

using Hash = std::map<std::string, std::string, std::less<>>;
using Value = std::variant<std::string, Hash, SortedSet>;

// Thread-safety: not thread-safe. Lifetime: borrows the clock.
class Keyspace {
 public:
  explicit Keyspace(const NodeClock& clock) : clock_(clock) {}

  const NodeClock& clock() const { return clock_; }

  // The value of a key that lives, else null. Valid until the next call.
  Value* Find(std::string_view key);

  // Sets a value; `expires_at_ms` (Unix time, none: never) replaces what the key had.
  Value& Put(std::string_view key, Value value, std::optional<int64_t> expires_at_ms);

  // False if the key does not live.
  bool Erase(std::string_view key);

  // When a key that lives will expire. Requires: it lives.
  std::optional<int64_t> ExpiryOf(std::string_view key) const;
  void SetExpiry(std::string_view key, int64_t expires_at_ms);

  // Keys that live.
  size_t Count();
  void Clear() { entries_.clear(); }

  // All keys as they are now, to be had back by Restore.
  struct Entry {
    Value value;
    std::optional<int64_t> expires_at_ms;
  };
  using Snapshot = StringMap<Entry>;
  const Snapshot& snapshot() const { return entries_; }
  void Restore(Snapshot snapshot) { entries_ = std::move(snapshot); }

  struct Page {
    std::vector<std::string> keys;
    uint64_t next_cursor = 0;  // 0: that was all.
  };

  // At least `count` keys that live from `cursor` on. A key that lives during all of an iteration
  // is met, whatever comes and goes meanwhile. The order depends on the names alone.
  Page Scan(uint64_t cursor, size_t count);

 private:
  bool IsOver(const Entry& entry) const;
  void Purge();

  const NodeClock& clock_;
  Snapshot entries_;
};

}  // namespace lockkeeper::support
