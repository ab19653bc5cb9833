// SPDX-License-Identifier: Apache-2.0
#include "rpc/tls_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>
#include <utility>

namespace lockkeeper::rpc {
namespace {

// gRPC's own C++ credentials either never change, or read files by themselves and then fail all
// handshakes while a file is broken. The C library asks a function of ours before each handshake.
class ReloadingCredentials final : public grpc::ServerCredentials {
 public:
  ReloadingCredentials(std::shared_ptr<const tls::ServerIdentity> identity,
                       ClientCertificate client)
      : identity_(std::move(identity)), client_(client) {}

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  static grpc_ssl_certificate_config_reload_status Fetch(void* self,
                                                         grpc_ssl_server_certificate_config** to) {
    return static_cast<ReloadingCredentials*>(self)->FetchNew(to);
  }

  grpc_ssl_certificate_config_reload_status FetchNew(grpc_ssl_server_certificate_config** to) {
    std::shared_ptr<const tls::Credentials> now = identity_->current();
    if (now == given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    given_ = std::move(now);
    const grpc_ssl_pem_key_cert_pair pair{.private_key = given_->key_pem.c_str(),
                                          .cert_chain = given_->chain_pem.c_str()};
    // gRPC wants CAs even where it asks for no certificate; it then uses them for nothing.
    const std::string& authorities =
        client_ == ClientCertificate::kRequired ? given_->authorities_pem : given_->chain_pem;
    *to = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    const auto request = client_ == ClientCertificate::kRequired
                             ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                             : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    grpc_server_credentials* const credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, &Fetch, this));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  const std::shared_ptr<const tls::ServerIdentity> identity_;
  const ClientCertificate client_;
  std::shared_ptr<const tls::Credentials> given_;  // To gRPC, last.
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(
    std::shared_ptr<const tls::ServerIdentity> identity, ClientCertificate client) {
  return std::make_shared<ReloadingCredentials>(std::move(identity), client);
}

}  // namespace lockkeeper::rpc
