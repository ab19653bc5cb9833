// SPDX-License-Identifier: Apache-2.0
//
// Where a Redis server is and who we are there:
//   redis://[user:password@]host[:port][/db]    port 6379 and db 0 unless given; [v6] in brackets
//   rediss://...                                the same through TLS
//   unix://[user:password@]/path[?db=N]
// Bytes that have a meaning in a URL are percent-encoded: a password "p@ss" is p%40ss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/secret.h"

namespace lockkeeper::redis {

struct RedisUrl {
  bool tls = false;
  std::string host;         // Name or address, without brackets. Empty for a unix socket.
  uint16_t port = 0;        // 0 for a unix socket.
  std::string socket_path;  // Empty for TCP.
  int database = 0;
  std::string user;  // Empty: Redis' default user.
  text::Secret password;

  // "10.0.0.1:6379", "[::1]:6379" or "/run/redis.sock": what messages name the server by.
  std::string Address() const;

  // The URL without its credentials, for logs.
  std::string Display() const;
};

// Errors: INVALID_FIELD of `store.redis` that says what is wrong and what is expected. It never
// repeats what might be part of a password.
absl::StatusOr<RedisUrl> ParseRedisUrl(std::string_view text);

}  // namespace lockkeeper::redis
