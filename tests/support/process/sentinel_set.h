// SPDX-License-Identifier: Apache-2.0
//
// A primary, its replicas, and the Sentinels that watch them, as real processes. All have full
// durability, and the primary stops without replicas.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/process/redis_server.h"

namespace lockkeeper::support {

struct SentinelSetOptions {
  size_t replicas = 2;
  size_t sentinels = 3;
  Listening listening = Listening::kUnixSocketAndTcp;
  // For how long a primary has to be silent before a failover.
  std::chrono::milliseconds down_after{60'000};
  std::vector<std::string> server_settings;    // Further lines of the servers' configuration.
  std::vector<std::string> sentinel_settings;  // And of the Sentinels'.
  std::vector<std::pair<std::string, std::string>> environment;  // Of the servers.
};

// Errors: throws std::runtime_error, which fails the test. Thread-safety: as RedisServer.
class SentinelSet {
 public:
  static constexpr const char* kService = "mymaster";

  // Waits until the Sentinels know one another and the replicas, and those are in step.
  explicit SentinelSet(SentinelSetOptions options = {});

  // "redis+sentinel://127.0.0.1:port,.../mymaster", rediss+sentinel:// with TLS.
  std::string url() const;

  size_t servers() const { return servers_.size(); }
  size_t sentinels() const { return sentinels_.size(); }
  RedisServer& server(size_t i) { return *servers_[i]; }
  RedisServer& sentinel(size_t i) { return *sentinels_[i]; }

  // The server that Sentinel `i` names.
  size_t PrimaryOf(size_t sentinel) const;
  // The highest that a Sentinel knows: it rises with each failover.
  int64_t ConfigEpoch() const;
  // Waits until all Sentinels name one server, not `before`, and answers which.
  size_t AwaitPrimaryOtherThan(size_t before) const;
  // Waits until all Sentinels and servers are up, and each replica is in step with the primary.
  void AwaitInStep() const;
  // Orders one Sentinel to replace the primary, and waits until all name another one.
  size_t FailOver();

 private:
  void Await(const std::string& what, const std::function<bool()>& is_so) const;
  bool IsInStep() const;
  std::string StateOf(size_t sentinel, const std::string& field) const;

  const SentinelSetOptions options_;
  std::vector<std::unique_ptr<RedisServer>> servers_;  // The first one is the primary at first.
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

}  // namespace lockkeeper::support
