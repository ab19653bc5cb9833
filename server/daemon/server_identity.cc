// SPDX-License-Identifier: Apache-2.0
#include "daemon/server_identity.h"

namespace lockkeeper::daemon {

absl::StatusOr<std::shared_ptr<tls::ServerIdentity>> LoadServerIdentity(
    const config::ServerConfig& config) {
  if (config.tls_certificate_file.empty()) return nullptr;
  return tls::ServerIdentity::Load(
      {.authorities = {"server.tls_client_ca_file", config.tls_client_ca_file},
       .certificate = {"server.tls_certificate_file", config.tls_certificate_file},
       .key = {"server.tls_key_file", config.tls_key_file}});
}

}  // namespace lockkeeper::daemon
