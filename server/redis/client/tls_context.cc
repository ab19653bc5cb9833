// SPDX-License-Identifier: Apache-2.0
#include "redis/client/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <new>
#include <utility>

#include "core/errors.h"
#include "os/read_file.h"

namespace lockkeeper::redis {
namespace {

constexpr std::string_view kCaField = "store.redis_tls_ca_file";
constexpr std::string_view kCertificateField = "store.redis_tls_certificate_file";
constexpr std::string_view kKeyField = "store.redis_tls_key_file";
// The system's own bundles have a quarter of it.
constexpr size_t kFileBytesMax = size_t{1} << 20;

template <auto Free>
struct FreeBy {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;

absl::Status Problem(std::string_view field, const std::string& file, const std::string& problem) {
  return core::InvalidField(field, "\"" + file + "\" " + problem);
}

// Why OpenSSL could not, and nothing left for the next one to ask.
std::string WhyNot() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "it cannot be read" : reason;
}

absl::StatusOr<Bio> Open(std::string_view field, const std::string& file, std::string& text) {
  if (const text::Problem problem = os::ReadFile(file, kFileBytesMax, text)) {
    return Problem(field, file, *problem);
  }
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) throw std::bad_alloc();
  return bio;
}

// Whoever would be asked for a passphrase is not there.
int NoPassphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// The next certificate of a file; null at its end. A problem if what follows is none.
absl::StatusOr<Certificate> NextCertificate(BIO* bio, std::string_view field,
                                            const std::string& file) {
  ERR_clear_error();
  bool asked = false;
  Certificate certificate(PEM_read_bio_X509(bio, nullptr, NoPassphrase, &asked));
  if (certificate != nullptr) return certificate;
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = WhyNot();
  if (at_end) return certificate;
  return Problem(field, file, "holds a certificate that cannot be read: " + reason);
}

absl::Status NoCertificate(std::string_view field, const std::string& file) {
  return Problem(field, file, "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
}

absl::Status LoadAuthorities(const std::string& file, SSL_CTX* ssl) {
  if (file.empty()) {
    if (SSL_CTX_set_default_verify_paths(ssl) == 1) return absl::OkStatus();
    return core::InvalidField(kCaField, "the CAs of the system cannot be used: " + WhyNot());
  }
  std::string text;
  const absl::StatusOr<Bio> bio = Open(kCaField, file, text);
  if (!bio.ok()) return bio.status();
  for (bool any = false;; any = true) {
    const absl::StatusOr<Certificate> certificate = NextCertificate(bio->get(), kCaField, file);
    if (!certificate.ok()) return certificate.status();
    if (*certificate == nullptr) {
      return any ? absl::OkStatus() : NoCertificate(kCaField, file);
    }
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), certificate->get()) != 1) {
      return Problem(kCaField, file, "holds a certificate that cannot be used: " + WhyNot());
    }
  }
}

absl::Status LoadCertificates(const std::string& file, SSL_CTX* ssl) {
  std::string text;
  const absl::StatusOr<Bio> bio = Open(kCertificateField, file, text);
  if (!bio.ok()) return bio.status();
  for (bool first = true;; first = false) {
    absl::StatusOr<Certificate> certificate = NextCertificate(bio->get(), kCertificateField, file);
    if (!certificate.ok()) return certificate.status();
    if (*certificate == nullptr) {
      return first ? NoCertificate(kCertificateField, file) : absl::OkStatus();
    }
    const bool taken = first ? SSL_CTX_use_certificate(ssl, certificate->get()) == 1
                             : SSL_CTX_add1_chain_cert(ssl, certificate->get()) == 1;
    if (!taken) {
      return Problem(kCertificateField, file,
                     "holds a certificate that cannot be used: " + WhyNot());
    }
  }
}

absl::Status LoadKey(const TlsOptions& options, SSL_CTX* ssl) {
  const std::string& file = options.key_file;
  std::string text;
  const absl::StatusOr<Bio> bio = Open(kKeyField, file, text);
  if (!bio.ok()) return bio.status();
  ERR_clear_error();
  bool asked = false;
  const Key key(PEM_read_bio_PrivateKey(bio->get(), nullptr, NoPassphrase, &asked));
  OPENSSL_cleanse(text.data(), text.size());
  if (asked) {
    ERR_clear_error();
    return Problem(kKeyField, file, "is protected by a passphrase; give the key without one");
  }
  if (key == nullptr) {
    ERR_clear_error();
    return Problem(kKeyField, file,
                   "holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)");
  }
  if (X509_check_private_key(SSL_CTX_get0_certificate(ssl), key.get()) != 1) {
    ERR_clear_error();
    return Problem(kKeyField, file,
                   "is not the key of the certificate in \"" + options.certificate_file + "\" (" +
                       std::string(kCertificateField) + ")");
  }
  if (SSL_CTX_use_PrivateKey(ssl, key.get()) != 1) {
    return Problem(kKeyField, file, "holds a key that cannot be used: " + WhyNot());
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

TlsContext::TlsContext(TlsOptions options) : options_(std::move(options)), ssl_(NewContext()) {}

TlsContext::~TlsContext() { SSL_CTX_free(ssl_); }

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::Load(const TlsOptions& options) {
  const std::shared_ptr<const TlsContext> context(new TlsContext(options));
  if (absl::Status status = LoadAuthorities(options.ca_file, context->ssl_); !status.ok()) {
    return status;
  }
  if (options.certificate_file.empty()) return context;
  if (absl::Status status = LoadCertificates(options.certificate_file, context->ssl_);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = LoadKey(options, context->ssl_); !status.ok()) return status;
  return context;
}

}  // namespace lockkeeper::redis
