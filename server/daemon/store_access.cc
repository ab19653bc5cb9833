// SPDX-License-Identifier: Apache-2.0
#include "daemon/store_access.h"

#include <utility>

namespace lockkeeper::daemon {

absl::StatusOr<StoreAccess> LoadStoreAccess(const config::StoreConfig& config) {
  absl::StatusOr<redis::RedisUrl> url = redis::ParseRedisUrl(config.redis.reveal());
  if (!url.ok()) return url.status();
  StoreAccess access{.url = *std::move(url), .tls = nullptr};
  if (!config.redis_password.empty()) access.url.password = config.redis_password;
  if (!access.url.tls) return access;
  auto tls = redis::TlsContext::Load({.ca_file = config.redis_tls_ca_file,
                                      .certificate_file = config.redis_tls_certificate_file,
                                      .key_file = config.redis_tls_key_file,
                                      .server_name = config.redis_tls_server_name});
  if (!tls.ok()) return tls.status();
  access.tls = *std::move(tls);
  return access;
}

}  // namespace lockkeeper::daemon
