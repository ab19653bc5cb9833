// SPDX-License-Identifier: Apache-2.0
//
// Which thread a lock belongs to. Everything that happens to one lock in this daemon happens on
// one shard, so the domain needs no mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/executor.h"
#include "core/lock_manager.h"
#include "core/lock_store.h"

namespace lockkeeper::core {

// Lifetime: borrows its parts, which belong to the shard's thread: post to `executor` first.
struct Shard {
  Executor& executor;
  LockManager& locks;
  AdminStore& admin;
};

// 64-bit FNV-1a of a lock's name. Stable over processes, so that a lock's place is reproducible.
uint64_t HashOfName(std::string_view name);

// Which of `shards` shards the lock `name` belongs to, from 0.
size_t ShardOf(std::string_view name, size_t shards);

// Thread-safety: thread-safe after construction.
class ShardMap {
 public:
  // Requires: at least one shard.
  explicit ShardMap(std::vector<Shard> shards);

  // The shard that the lock `name` belongs to.
  Shard& For(std::string_view name);

  std::vector<Shard>& all() { return shards_; }

 private:
  std::vector<Shard> shards_;
};

}  // namespace lockkeeper::core
