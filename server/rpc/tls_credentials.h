// SPDX-License-Identifier: Apache-2.0
//
// gRPC over TLS with certificates that are exchanged while the server runs.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "tls/server_identity.h"

namespace lockkeeper::rpc {

enum class ClientCertificate { kNotAskedFor, kRequired };

// TLS 1.2 or later; each handshake uses the identity's current version. For one listener only, on
// which one thread accepts all connections: gRPC 1.51 exchanges certificates without a mutex.
std::shared_ptr<grpc::ServerCredentials> TlsCredentials(
    std::shared_ptr<const tls::ServerIdentity> identity, ClientCertificate client);

}  // namespace lockkeeper::rpc
