// SPDX-License-Identifier: Apache-2.0
#include "support/tls/tls_acceptor.h"

#include <openssl/ssl.h>
#include <pthread.h>

#include <csignal>
#include <stdexcept>

namespace lockkeeper::support {

TlsServerStream::~TlsServerStream() { SSL_free(ssl_); }

bool TlsServerStream::WriteAll(std::string_view bytes) {
  return bytes.empty() || SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

ssize_t TlsServerStream::Read(char* buffer, size_t size) {
  return SSL_read(ssl_, buffer, static_cast<int>(size));
}

TlsAcceptor::TlsAcceptor(const TlsFiles& own) : context_(SSL_CTX_new(TLS_server_method())) {
  if (SSL_CTX_use_certificate_chain_file(context_, own.certificate.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context_, own.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    throw std::runtime_error("tls acceptor: cannot use " + own.certificate);
  }
}

TlsAcceptor::~TlsAcceptor() { SSL_CTX_free(context_); }

std::unique_ptr<TlsServerStream> TlsAcceptor::Accept(int socket) const {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  SSL* ssl = SSL_new(context_);
  auto stream = std::make_unique<TlsServerStream>(ssl);
  if (SSL_set_fd(ssl, socket) != 1 || SSL_accept(ssl) != 1) return nullptr;
  return stream;
}

}  // namespace lockkeeper::support
