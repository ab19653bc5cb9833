// SPDX-License-Identifier: Apache-2.0
//
// A Redis server and its replicas, as real processes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "support/process/redis_server.h"

namespace lockkeeper::support {

// Thread-safety: as RedisServer.
class ReplicatedServers {
 public:
  // Waits until the replicas are in step. `settings`: further ones of all servers.
  explicit ReplicatedServers(size_t replicas = 1, const std::vector<std::string>& settings = {});

  RedisServer& primary() { return *primary_; }
  RedisServer& replica(size_t i = 0) { return *replicas_[i]; }

 private:
  std::unique_ptr<RedisServer> primary_;
  std::vector<std::unique_ptr<RedisServer>> replicas_;
};

}  // namespace lockkeeper::support
