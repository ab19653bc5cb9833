// SPDX-License-Identifier: Apache-2.0
//
// Keepers that no other call of any daemon has.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/types.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe.
class KeeperSource {
 public:
  // `daemon_id` is new at each start of a daemon.
  explicit KeeperSource(uint64_t daemon_id) : daemon_id_(daemon_id) {}

  core::Keeper Next() { return {daemon_id_, Number()}; }

  // Of a lease that a session adopts. Daemons' ids are so far apart that these numbers never meet.
  core::Keeper NextHolder() { return core::Keeper::OfHolder(daemon_id_ + Number()); }

 private:
  uint64_t Number() { return next_.fetch_add(1, std::memory_order_relaxed); }

  const uint64_t daemon_id_;
  std::atomic<uint64_t> next_{1};
};

}  // namespace lockkeeper::rpc
