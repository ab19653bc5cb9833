// SPDX-License-Identifier: Apache-2.0
//
// One blocking connection of a test to a Redis server, for commands one by one or in a pipeline.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/node/reply.h"

struct redisContext;

namespace lockkeeper::support {

// Errors: throws std::runtime_error when the connection cannot be made or breaks. An error reply is
// a reply. Thread-safety: not thread-safe.
class RedisConnection {
 public:
  // Connects to a unix socket. Replies may take 30 s.
  explicit RedisConnection(const std::string& socket_path);
  ~RedisConnection();

  // Sends a command without waiting for its reply.
  void Send(const std::vector<std::string_view>& words);

  // The reply to the oldest command that has none yet.
  redis::Reply Receive();

  redis::Reply Run(const std::vector<std::string_view>& words);

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };

  [[noreturn]] void Fail() const;

  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace lockkeeper::support
