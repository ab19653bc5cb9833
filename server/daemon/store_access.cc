// SPDX-License-Identifier: Apache-2.0
#include "daemon/store_access.h"

#include <utility>

namespace lockkeeper::daemon {
namespace {

// Null if no file is given.
absl::StatusOr<std::shared_ptr<redis::PasswordFile>> Load(const std::string& key,
                                                          const std::string& file) {
  if (file.empty()) return nullptr;
  return redis::PasswordFile::Load({.name = key, .path = file});
}

absl::Status LoadPasswords(const config::StoreConfig& config, StoreAccess& access) {
  auto password = Load("store.redis_password_file", config.redis_password_file);
  if (!password.ok()) return password.status();
  access.password = *std::move(password);
  access.url.server.password_file = access.password;
  for (redis::RedisUrl& server : access.url.cluster) server.password_file = access.password;

  auto of_sentinels = Load("store.sentinel_password_file", config.sentinel_password_file);
  if (!of_sentinels.ok()) return of_sentinels.status();
  access.sentinel_password = *std::move(of_sentinels);
  for (redis::RedisUrl& sentinel : access.url.sentinels) {
    sentinel.user = config.sentinel_user;
    sentinel.password_file = access.sentinel_password;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoreAccess> LoadStoreAccess(const config::StoreConfig& config) {
  absl::StatusOr<redis::StoreUrl> url = redis::ParseStoreUrl(config.redis.reveal());
  if (!url.ok()) return url.status();
  StoreAccess access{.url = *std::move(url)};
  if (auto status = LoadPasswords(config, access); !status.ok()) return status;
  const redis::RedisUrl& server = access.url.server;
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
