// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/secure_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "support/process/read_text.h"

namespace lockkeeper::support {

std::shared_ptr<grpc::Channel> SecureChannel(const std::string& address, const ClientFiles& files,
                                             const std::string& token) {
  grpc::SslCredentialsOptions options{
      .pem_root_certs = ReadText(files.ca), .pem_private_key = "", .pem_cert_chain = ""};
  if (!files.certificate.empty()) {
    options.pem_private_key = ReadText(files.key);
    options.pem_cert_chain = ReadText(files.certificate);
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!files.server_name.empty()) arguments.SetSslTargetNameOverride(files.server_name);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::SslCredentials(options);
  if (!token.empty()) {
    credentials =
        grpc::CompositeChannelCredentials(credentials, grpc::AccessTokenCredentials(token));
  }
  const size_t scheme = address.find("://");
  return grpc::CreateCustomChannel(
      scheme == std::string::npos ? address : address.substr(scheme + 3), credentials, arguments);
}

}  // namespace lockkeeper::support
