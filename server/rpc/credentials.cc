// SPDX-License-Identifier: Apache-2.0
#include "rpc/credentials.h"

#include <grpc/grpc_security_constants.h>

#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::rpc {
namespace {

std::vector<std::string_view> ValuesOf(const grpc::AuthContext& auth, const std::string& name) {
  std::vector<std::string_view> values;
  for (const grpc::string_ref& value : auth.FindPropertyValues(name)) {
    values.emplace_back(value.data(), value.size());
  }
  return values;
}

}  // namespace

std::optional<access::Credentials::Certificate> CertificateIn(const grpc::AuthContext& auth) {
  // Not IsPeerAuthenticated(), which a certificate without names is not.
  if (auth.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME).empty()) return std::nullopt;
  access::Credentials::Certificate names;
  names.spiffe_ids = ValuesOf(auth, GRPC_PEER_SPIFFE_ID_PROPERTY_NAME);
  names.dns_names = ValuesOf(auth, GRPC_PEER_DNS_PROPERTY_NAME);
  const auto common_names = ValuesOf(auth, GRPC_X509_CN_PROPERTY_NAME);
  if (!common_names.empty()) names.common_name = common_names.front();
  return names;
}

access::Credentials CredentialsOf(const grpc::CallbackServerContext& call,
                                  const grpc::AuthContext* auth) {
  access::Credentials shown;
  if (auth != nullptr) shown.certificate = CertificateIn(*auth);
  const auto& metadata = call.client_metadata();
  const auto [begin, end] = metadata.equal_range(kAuthorizationKey);
  for (auto entry = begin; entry != end; ++entry) {
    shown.authorization.emplace_back(entry->second.data(), entry->second.size());
  }
  return shown;
}

}  // namespace lockkeeper::rpc
