// SPDX-License-Identifier: Apache-2.0
//
// Reads from gRPC what a call shows to prove who makes it.
#pragma once

#include <optional>

#include "access/rulebook.h"
#include "grpcpp/security/auth_context.h"
#include "grpcpp/server_context.h"

namespace lockkeeper::rpc {

// Metadata key of bearer tokens.
inline constexpr char kAuthorizationKey[] = "authorization";

// The names of a client's certificate, if the transport has verified one.
// Lifetime: the texts are those of `auth`.
std::optional<access::Credentials::Certificate> CertificateIn(const grpc::AuthContext& auth);

// `auth` is that of the call; null if it has none. Lifetime: the texts are those of both.
access::Credentials CredentialsOf(const grpc::CallbackServerContext& call,
                                  const grpc::AuthContext* auth);

}  // namespace lockkeeper::rpc
