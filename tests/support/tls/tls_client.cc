// SPDX-License-Identifier: Apache-2.0
#include "support/tls/tls_client.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <csignal>
#include <memory>
#include <stdexcept>

#include "support/process/tcp_connection.h"

namespace lockkeeper::support {
namespace {

constexpr timeval kPatience{.tv_sec = 20, .tv_usec = 0};

os::Descriptor ConnectPatiently(uint16_t port) {
  os::Descriptor connection = ConnectTo(port);
  if (!connection.valid()) throw std::runtime_error("tls client: nobody listens");
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  return connection;
}

std::string LastProblem() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "connection closed" : reason;
}

}  // namespace

TlsClient::TlsClient(uint16_t port, const TlsClientOptions& options)
    : socket_(ConnectPatiently(port)), context_(SSL_CTX_new(TLS_client_method())) {
  if (!options.ca_file.empty()) {
    SSL_CTX_load_verify_locations(context_, options.ca_file.c_str(), nullptr);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  }
  if (!options.own.certificate.empty()) {
    SSL_CTX_use_certificate_chain_file(context_, options.own.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context_, options.own.key.c_str(), SSL_FILETYPE_PEM);
  }
  if (options.version_max != 0) {
    // The system's policy forbids old versions; it is the server's that is looked at.
    SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, options.version_max);
    SSL_CTX_set_cipher_list(context_, "ALL:@SECLEVEL=0");
  }
  if (!options.alpn.empty()) {
    const std::string list = static_cast<char>(options.alpn.size()) + options.alpn;
    SSL_CTX_set_alpn_protos(context_, reinterpret_cast<const unsigned char*>(list.data()),
                            static_cast<unsigned>(list.size()));
  }
  ssl_ = SSL_new(context_);
  SSL_set_fd(ssl_, socket_.get());
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to servers that have hung up.
  ERR_clear_error();
  if (SSL_connect(ssl_) != 1) problem_ = LastProblem();
}

TlsClient::~TlsClient() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

std::string TlsClient::version() const { return SSL_get_version(ssl_); }

std::string TlsClient::certificate() const {
  const std::unique_ptr<X509, void (*)(X509*)> shown(SSL_get1_peer_certificate(ssl_), X509_free);
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
  if (shown == nullptr || PEM_write_bio_X509(bio.get(), shown.get()) != 1) return "";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

bool TlsClient::Write(std::string_view bytes) {
  return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

std::string TlsClient::ReadAll() {
  std::string bytes;
  std::array<char, 4096> buffer;
  ERR_clear_error();
  int count = 0;
  while ((count = SSL_read(ssl_, buffer.data(), buffer.size())) > 0) {
    bytes.append(buffer.data(), static_cast<size_t>(count));
  }
  if (SSL_get_error(ssl_, count) != SSL_ERROR_ZERO_RETURN) problem_ = LastProblem();
  return bytes;
}

}  // namespace lockkeeper::support
