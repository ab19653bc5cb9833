// SPDX-License-Identifier: Apache-2.0
//
// What guards of tests have in common.
#pragma once

#include <chrono>
#include <string>

#include "redis/format/key_layout.h"
#include "redis/guard/node_guard.h"

namespace lockkeeper::support {

// Of the daemon with that id, 16 hex digits. An empty store is taken for a new one at once.
inline redis::NodeGuardOptions GuardOptionsOf(const std::string& daemon_id) {
  const redis::KeyLayout keys("lk:");
  return {.keys = keys,
          .policy = {.ceiling_max = std::chrono::minutes(2),
                     .new_service_id = daemon_id,
                     .new_reassertion_key = daemon_id + daemon_id},
          .new_store = {.record_pattern = keys.RecordPattern(""),
                        .channel_pattern = keys.ChannelPattern()}};
}

}  // namespace lockkeeper::support
