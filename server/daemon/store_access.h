// SPDX-License-Identifier: Apache-2.0
//
// How to reach the Redis of `store.redis` and its Sentinels: addresses, our credentials, the CAs
// that we trust.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "redis/client/redis_url.h"
#include "redis/client/tls_context.h"

namespace lockkeeper::daemon {

struct StoreAccess {
  redis::StoreUrl url;
  std::shared_ptr<redis::PasswordFile> password;           // Null unless a file has it.
  std::shared_ptr<redis::PasswordFile> sentinel_password;  // Likewise.
  std::shared_ptr<redis::TlsContext> tls;                  // Null unless the URL asks for TLS.
  std::shared_ptr<redis::TlsContext> sentinel_tls;         // Likewise, and null without Sentinels.
};

// Reads the files of the settings. Errors: INVALID_FIELD that names the setting, the file and what
// is wrong.
absl::StatusOr<StoreAccess> LoadStoreAccess(const config::StoreConfig& config);

}  // namespace lockkeeper::daemon
