// SPDX-License-Identifier: Apache-2.0
#include "redis/client/tls_context.h"

#include <openssl/ssl.h>

#include <new>
#include <utility>

#include "core/errors.h"
#include "tls/credentials.h"

namespace lockkeeper::redis {
namespace {

// Uses what the files hold. Errors: INVALID_FIELD.
absl::Status Use(const tls::CredentialFiles& files, const tls::Credentials& credentials,
                 SSL_CTX* ssl) {
  if (files.authorities.path.empty() && SSL_CTX_set_default_verify_paths(ssl) != 1) {
    return core::InvalidField(files.authorities.name,
                              "the CAs of the system cannot be used: " + tls::LastError());
  }
  for (const tls::Certificate& authority : credentials.authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), authority.get()) != 1) {
      return tls::FileError(files.authorities,
                            "holds a certificate that cannot be used: " + tls::LastError());
    }
  }
  for (const tls::Certificate& certificate : credentials.chain) {
    const bool first = &certificate == &credentials.chain.front();
    const bool taken = first ? SSL_CTX_use_certificate(ssl, certificate.get()) == 1
                             : SSL_CTX_add1_chain_cert(ssl, certificate.get()) == 1;
    if (!taken) {
      return tls::FileError(files.certificate,
                            "holds a certificate that cannot be used: " + tls::LastError());
    }
  }
  if (credentials.key != nullptr && SSL_CTX_use_PrivateKey(ssl, credentials.key.get()) != 1) {
    return tls::FileError(files.key, "holds a key that cannot be used: " + tls::LastError());
  }
  return absl::OkStatus();
}

SSL_CTX* NewContext() {
  SSL_CTX* ssl = SSL_CTX_new(TLS_client_method());
  if (ssl == nullptr) throw std::bad_alloc();
  // The system may demand a later version still.
  if (SSL_CTX_get_min_proto_version(ssl) < TLS1_2_VERSION) {
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  }
  SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // What is to be written may move between two tries, since more is put behind it.
  SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // One system call brings a record, not two.
  SSL_CTX_set_read_ahead(ssl, 1);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  return ssl;
}

}  // namespace

TlsContext::TlsContext(TlsOptions options)
    : options_(std::move(options)),
      files_{.authorities = {"store.redis_tls_ca_file", options_.ca_file},
             .certificate = {"store.redis_tls_certificate_file", options_.certificate_file},
             .key = {"store.redis_tls_key_file", options_.key_file}} {}

absl::StatusOr<std::shared_ptr<TlsContext>> TlsContext::Load(const TlsOptions& options) {
  std::shared_ptr<TlsContext> context(new TlsContext(options));
  const absl::StatusOr<os::Contents> contents = tls::ReadCredentials(context->files_);
  if (!contents.ok()) return contents.status();
  if (absl::Status status = context->Use(*contents); !status.ok()) return status;
  return context;
}

absl::Status TlsContext::Use(const os::Contents& contents) {
  absl::StatusOr<tls::Credentials> credentials = tls::CheckCredentials(files_, contents);
  if (!credentials.ok()) return credentials.status();
  std::shared_ptr<SSL_CTX> ssl(NewContext(), SSL_CTX_free);
  if (absl::Status status = redis::Use(files_, *credentials, ssl.get()); !status.ok()) {
    return status;
  }
  const std::lock_guard lock(mutex_);
  ssl_ = std::move(ssl);
  contents_ = contents;
  valid_until_ =
      credentials->chain.empty() ? std::nullopt : std::optional(tls::ValidUntil(*credentials));
  return absl::OkStatus();
}

text::Problem TlsContext::Take(const os::Contents& contents) {
  const absl::Status status = Use(contents);
  return status.ok() ? std::nullopt : text::Problem(status.message());
}

std::shared_ptr<ssl_ctx_st> TlsContext::ssl() const {
  const std::lock_guard lock(mutex_);
  return ssl_;
}

os::Contents TlsContext::contents() const {
  const std::lock_guard lock(mutex_);
  return contents_;
}

std::optional<int64_t> TlsContext::valid_until() const {
  const std::lock_guard lock(mutex_);
  return valid_until_;
}

}  // namespace lockkeeper::redis
