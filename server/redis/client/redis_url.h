// SPDX-License-Identifier: Apache-2.0
//
// Where the store is and who we are there:
//   redis://[user:password@]host[:port][/db]    port 6379 and db 0 unless given; [v6] in brackets
//   rediss://...                                the same through TLS
//   unix://[user:password@]/path[?db=N]
//   redis+sentinel://[user:password@]host[:port][,host[:port]...]/service[/db]
//                                               Sentinels, port 26379 unless given, that know where
//                                               the primary of `service` is
//   rediss+sentinel://...                       the same, Sentinels and Redis through TLS
//   redis+cluster://[user:password@]host[:port][,host[:port]...]
//                                               servers of a Redis Cluster, port 6379 unless given;
//                                               the others are learned from them
//   rediss+cluster://...                        the same through TLS
// User and password are those of Redis, also behind Sentinels, which have their own.
// Bytes that have a meaning in a URL are percent-encoded: a password "p@ss" is p%40ss.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "redis/client/password_file.h"
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
  std::shared_ptr<const PasswordFile> password_file;  // Counts instead. Null: there is none.

  // False for the primary of Sentinels, as long as they have not told where it is.
  bool has_address() const { return !host.empty() || !socket_path.empty(); }

  // What a connection that begins now has to tell.
  text::Secret CurrentPassword() const;

  // "10.0.0.1:6379", "[::1]:6379" or "/run/redis.sock": what messages name the server by.
  std::string Address() const;

  // The URL without its credentials, for logs.
  std::string Display() const;
};

// What `store.redis` names: one server, the Sentinels of a service, or a Cluster.
struct StoreUrl {
  // Of Sentinels: their primary, without an address. Of a Cluster: the first of its servers.
  RedisUrl server;
  std::vector<RedisUrl> sentinels;  // Without credentials. Empty unless there are some.
  std::string service;              // What the Sentinels call the store.
  std::vector<RedisUrl> cluster;    // Servers of it. Empty unless it is one.

  bool has_sentinels() const { return !sentinels.empty(); }
  bool is_cluster() const { return !cluster.empty(); }

  // What messages name the store by: the server's address, "mymaster of 10.0.0.1:26379,...", or
  // "the Cluster of 10.0.0.1:6379,...".
  std::string Address() const;

  // The URL without its credentials, for logs.
  std::string Display() const;
};

// Errors: INVALID_FIELD of `store.redis` that says what is wrong and what is expected. It never
// repeats what might be part of a password.
absl::StatusOr<StoreUrl> ParseStoreUrl(std::string_view text);

// The URL of one server. Errors: likewise.
absl::StatusOr<RedisUrl> ParseRedisUrl(std::string_view text);

}  // namespace lockkeeper::redis
