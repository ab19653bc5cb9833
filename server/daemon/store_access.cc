// SPDX-License-Identifier: Apache-2.0
#include "daemon/store_access.h"

#include <utility>

namespace lockkeeper::daemon {

absl::StatusOr<StoreAccess> LoadStoreAccess(const config::StoreConfig& config) {
  absl::StatusOr<redis::StoreUrl> url = redis::ParseStoreUrl(config.redis.reveal());
  if (!url.ok()) return url.status();
  StoreAccess access{.url = *std::move(url), .tls = nullptr, .sentinel_tls = nullptr};
  redis::RedisUrl& server = access.url.server;
  if (!config.redis_password.empty()) {
    server.password = config.redis_password;
    for (redis::RedisUrl& of_cluster : access.url.cluster) of_cluster.password = server.password;
  }
  for (redis::RedisUrl& sentinel : access.url.sentinels) {
    sentinel.user = config.sentinel_user;
    sentinel.password = config.sentinel_password;
  }
  if (!server.tls) return access;
  const redis::TlsOptions options{.ca_file = config.redis_tls_ca_file,
                                  .certificate_file = config.redis_tls_certificate_file,
                                  .key_file = config.redis_tls_key_file,
                                  .server_name = config.redis_tls_server_name};
  auto tls = redis::TlsContext::Load(options);
  if (!tls.ok()) return tls.status();
  access.tls = *std::move(tls);
  if (!access.url.has_sentinels()) return access;
  redis::TlsOptions for_sentinels = options;
  for_sentinels.server_name.clear();  // Each proves its own host.
  if (!config.sentinel_tls_ca_file.empty()) for_sentinels.ca_file = config.sentinel_tls_ca_file;
  auto sentinel_tls = redis::TlsContext::Load(for_sentinels);
  if (!sentinel_tls.ok()) return sentinel_tls.status();
  access.sentinel_tls = *std::move(sentinel_tls);
  return access;
}

}  // namespace lockkeeper::daemon
