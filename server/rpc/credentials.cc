// SPDX-License-Identifier: Apache-2.0
#include "rpc/credentials.h"

namespace lockkeeper::rpc {

access::Credentials CredentialsOf(const grpc::CallbackServerContext& call,
                                  const grpc::AuthContext* auth) {
  access::Credentials shown;
  if (auth != nullptr) shown.certificate = CertificateIn(*auth);
  const auto& metadata = call.client_metadata();
  const auto [begin, end] = metadata.equal_range(kAuthorizationKey);
  for (auto entry = begin; entry != end; ++entry) {
    shown.authorization.push_back(ViewOf(entry->second));
  }
  return shown;
}

}  // namespace lockkeeper::rpc
