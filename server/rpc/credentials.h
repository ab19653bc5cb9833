// SPDX-License-Identifier: Apache-2.0
//
// Reads from gRPC what a call shows to prove who makes it.
#pragma once

#include <grpc/grpc_security_constants.h>

#include <optional>
#include <string_view>

#include "access/rulebook.h"
#include "grpcpp/security/auth_context.h"
#include "grpcpp/server_context.h"

namespace lockkeeper::rpc {

// Metadata key of bearer tokens.
inline constexpr char kAuthorizationKey[] = "authorization";

inline std::string_view ViewOf(grpc::string_ref text) { return {text.data(), text.size()}; }

// The names of a client's certificate, if the transport has verified one. In one pass: to ask gRPC
// for the values of each name costs twice as much. `properties`: a range of grpc::AuthProperty, as
// a grpc::AuthContext is. Lifetime: the texts are those of the properties.
template <typename Properties>
std::optional<access::Credentials::Certificate> CertificateIn(const Properties& properties) {
  // Not IsPeerAuthenticated(), which a certificate without names is not.
  bool is_verified = false;
  access::Credentials::Certificate names;
  for (const grpc::AuthProperty& property : properties) {
    const std::string_view name = ViewOf(property.first);
    const std::string_view value = ViewOf(property.second);
    if (name == GRPC_X509_PEM_CERT_PROPERTY_NAME) {
      is_verified = true;
    } else if (name == GRPC_PEER_SPIFFE_ID_PROPERTY_NAME) {
      names.spiffe_ids.push_back(value);
    } else if (name == GRPC_PEER_DNS_PROPERTY_NAME) {
      names.dns_names.push_back(value);
    } else if (name == GRPC_X509_CN_PROPERTY_NAME && names.common_name.empty()) {
      names.common_name = value;
    }
  }
  if (!is_verified) return std::nullopt;
  return names;
}

// `auth` is that of the call; null if it has none. Lifetime: the texts are those of both.
access::Credentials CredentialsOf(const grpc::CallbackServerContext& call,
                                  const grpc::AuthContext* auth);

}  // namespace lockkeeper::rpc
