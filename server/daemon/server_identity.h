// SPDX-License-Identifier: Apache-2.0
//
// Who the daemon is to its clients, by the settings of `server`.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "tls/server_identity.h"

namespace lockkeeper::daemon {

// Null if no certificate is given. Errors: INVALID_FIELD that names the setting, the file and what
// is wrong.
absl::StatusOr<std::shared_ptr<tls::ServerIdentity>> LoadServerIdentity(
    const config::ServerConfig& config);

}  // namespace lockkeeper::daemon
