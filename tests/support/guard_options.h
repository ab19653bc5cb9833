// SPDX-License-Identifier: Apache-2.0
//
// What guards and stores of tests have in common.
#pragma once

#include <chrono>
#include <string>

#include "redis/format/key_layout.h"
#include "redis/guard/node_guard.h"
#include "redis/redis_store.h"

namespace lockkeeper::support {

// Of the daemon with that id, 16 hex digits. An empty store is taken for a new one at once.
inline redis::RedisStoreOptions StoreOptionsOf(const std::string& daemon_id) {
  return {.daemon_id = daemon_id,
          .request_timeout = std::chrono::minutes(1),  // A test's machine may be slow.
          .policy = {.ceiling_max = std::chrono::minutes(2),
                     .new_service_id = daemon_id,
                     .new_reassertion_key = daemon_id + daemon_id}};
}

inline redis::NodeGuardOptions GuardOptionsOf(const std::string& daemon_id) {
  const redis::KeyLayout keys("lk:");
  return {.keys = keys,
          .policy = StoreOptionsOf(daemon_id).policy,
          .new_store = {.record_pattern = keys.RecordPattern(""),
                        .channel_pattern = keys.ChannelPattern()}};
}

}  // namespace lockkeeper::support
