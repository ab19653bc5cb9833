// SPDX-License-Identifier: Apache-2.0
#include "core/shard.h"

#include <utility>

namespace lockkeeper::core {

uint64_t HashOfName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

ShardMap::ShardMap(std::vector<Shard> shards) : shards_(std::move(shards)) {}

size_t ShardOf(std::string_view name, size_t shards) { return HashOfName(name) % shards; }

Shard& ShardMap::For(std::string_view name) { return shards_[ShardOf(name, shards_.size())]; }

}  // namespace lockkeeper::core
