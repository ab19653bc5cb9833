// SPDX-License-Identifier: Apache-2.0
//
// A Redis Cluster of real processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/process/redis_server.h"

namespace lockkeeper::support {

struct ClusterSetOptions {
  size_t primaries = 3;
  size_t replicas = 0;  // Of each primary.
  std::chrono::milliseconds node_timeout{50'000};
  std::vector<std::string> settings;  // Further lines of the servers' configuration.
  Listening listening = Listening::kUnixSocketAndTcp;
  Durability durability = Durability::kDiskAlways;
};

// Errors: throws std::runtime_error, which fails the test. Thread-safety: as RedisServer.
class ClusterSet {
 public:
  // Waits until all slots are served, all servers know it, and the replicas are in step.
  explicit ClusterSet(ClusterSetOptions options = {});

  // "redis+cluster://127.0.0.1:port", of the first primary alone: others are to be learned.
  // rediss+cluster:// with TLS.
  std::string url() const;

  // The primaries of the beginning, each with an equal range of slots, then their replicas, by
  // turns.
  RedisServer& server(size_t i) const { return *servers_[i]; }
  size_t servers() const { return servers_.size(); }
  const ClusterSetOptions& options() const { return options_; }

  // Who serves the slot, as server `asked` says.
  size_t OwnerOf(uint16_t slot, size_t asked) const;

  // Moves a slot with its keys to another primary, as redis-cli --cluster reshard does. Keys leave
  // one by one; `between` runs after each.
  void MoveSlot(uint16_t slot, size_t to, const std::function<void()>& between = [] {});

  // The same for many slots of one primary, so many at a time as it takes to be fast.
  void MoveSlots(const std::vector<uint16_t>& slots, size_t from, size_t to);

  // Those that a primary serves, as it says itself.
  std::vector<uint16_t> SlotsOf(size_t primary) const;

  // That of a primary; the first one, if it has several.
  size_t ReplicaOf(size_t primary) const;

  // Of the configuration of a primary: it rises when the primary is promoted.
  int64_t ConfigEpoch(size_t primary) const;

  // Waits until all servers run, agree, and each replica is in step.
  void AwaitInStep() const;

  // Waits until another server than `before` serves the slot, for all but the server `except`.
  size_t AwaitOwnerOtherThan(size_t before, uint16_t slot, size_t except) const;

 private:
  void Await(const std::string& what, const std::function<bool()>& is_so) const;
  void ExpectOk(size_t server, const std::vector<std::string>& words) const;
  std::string IdOf(size_t server) const;
  bool IsInOrder(size_t server) const;

  const ClusterSetOptions options_;
  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace lockkeeper::support
