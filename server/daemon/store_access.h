// SPDX-License-Identifier: Apache-2.0
//
// How the Redis of `store.redis` is reached: its address, who we are there, whom we trust.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "redis/client/redis_url.h"
#include "redis/client/tls_context.h"

namespace lockkeeper::daemon {

struct StoreAccess {
  redis::RedisUrl url;
  std::shared_ptr<const redis::TlsContext> tls;  // Of rediss://; otherwise null.
};

// Reads the files that the settings name.
// Errors: INVALID_FIELD that names the setting, the file and what is wrong.
absl::StatusOr<StoreAccess> LoadStoreAccess(const config::StoreConfig& config);

}  // namespace lockkeeper::daemon
