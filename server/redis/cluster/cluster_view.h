// SPDX-License-Identifier: Apache-2.0
//
// What one server of a Redis Cluster says of all, and what follows from what several of them say.
// No I/O.
//
// Source: CLUSTER NODES of the Redis Cluster specification. As the servers among themselves, it
// believes whoever claims a slot with the highest configuration epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/client/redis_url.h"

namespace lockkeeper::redis {

// A primary, with the slots that it claims.
struct ClusterPrimary {
  std::string id;  // 40 hex digits; stays the same over restarts.
  // Empty if the server that was asked does not know its own.
  std::string host;
  uint16_t port = 0;
  int64_t epoch = 0;                                 // Of its configuration.
  std::vector<std::pair<uint16_t, uint16_t>> slots;  // First and last of each range.

  bool Claims(uint16_t slot) const;
};

// What one server says.
struct ClusterView {
  std::vector<ClusterPrimary> primaries;  // That are not known to have failed.
};

// Reads the answer to CLUSTER NODES; `asked` is the server that gave it. Nothing if it is no such
// answer.
std::optional<ClusterView> ReadClusterNodes(std::string_view text, const RedisUrl& asked);

// Whoever serves the slot, by all views. Null if none of them knows.
const ClusterPrimary* OwnerOf(uint16_t slot, const std::vector<const ClusterView*>& views);

// What MOVED and ASK say: "<word> <slot> <host>:<port>". The host is empty where it is the one that
// was asked. Nothing if it is not that.
struct Redirection {
  uint16_t slot = 0;
  std::string host;
  uint16_t port = 0;
};
std::optional<Redirection> ReadRedirection(std::string_view error);

}  // namespace lockkeeper::redis
