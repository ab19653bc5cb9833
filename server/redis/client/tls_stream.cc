// SPDX-License-Identifier: Apache-2.0
#include "redis/client/tls_stream.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "tls/certificate_text.h"

namespace lockkeeper::redis {
namespace {

// A record takes no more. Several at once could leave a part of them in the kernel's hands while we
// are told that nothing was written.
constexpr size_t kRecordBytesMax = SSL3_RT_MAX_PLAIN_LENGTH;

bool IsAddress(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

void Require(bool condition) {
  if (!condition) throw std::bad_alloc();  // All else was checked before.
}

// As certificates have it: "redis.example." with its last dot is the same name.
std::string WithoutLastDot(std::string name) {
  if (name.size() > 1 && name.ends_with('.')) name.pop_back();
  return name;
}

void ExpectServer(SSL* ssl, const std::string& name) {
  if (IsAddress(name)) {
    Require(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1);
    return;
  }
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  Require(SSL_set1_host(ssl, name.c_str()) == 1);
  if (name.size() <= TLSEXT_MAXLEN_host_name) {
    Require(SSL_set_tlsext_host_name(ssl, name.c_str()) == 1);
  }
}

}  // namespace

struct TlsStream::Callbacks {
  static TlsStream& Of(const SSL* ssl) { return *static_cast<TlsStream*>(SSL_get_app_data(ssl)); }

  static int OnCertificate(int trusted, X509_STORE_CTX* chain) {
    if (trusted == 1) return trusted;
    const auto* ssl = static_cast<const SSL*>(
        X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    TlsEvidence& evidence = Of(ssl).evidence_;
    evidence.verify_error = X509_STORE_CTX_get_error(chain);
    if (const X509* certificate = X509_STORE_CTX_get_current_cert(chain)) {
      evidence.certificate = tls::DescribeCertificate(certificate);
    }
    return trusted;
  }

  static int OnCertificateAskedFor(SSL* ssl, void*) {
    Of(ssl).evidence_.was_asked = true;
    return 1;  // Go on with what there is.
  }
};

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context, int socket, const std::string& host)
    : context_(std::move(context)), ssl_(SSL_new(context_->ssl().get())) {
  Require(ssl_ != nullptr);
  const TlsOptions& options = context_->options();
  evidence_.expected_name =
      WithoutLastDot(options.server_name.empty() ? host : options.server_name);
  evidence_.own_certificate = options.certificate_file;
  SSL_set_app_data(ssl_, this);
  SSL_set_verify(ssl_, SSL_VERIFY_PEER, Callbacks::OnCertificate);
  SSL_set_cert_cb(ssl_, Callbacks::OnCertificateAskedFor, nullptr);
  ExpectServer(ssl_, evidence_.expected_name);
  Require(SSL_set_fd(ssl_, socket) == 1);
  SSL_set_connect_state(ssl_);
}

TlsStream::~TlsStream() {
  // Without a word: what SSL_shutdown sends would take a record along that was written in part.
  SSL_free(ssl_);
}

TlsStream::Result TlsStream::Handshake() {
  ERR_clear_error();
  const Result result = Judge(SSL_do_handshake(ssl_), read_awaits_writable_);
  established_ = result == Result::kDone;
  return result;
}

TlsStream::Result TlsStream::Write(std::string_view bytes, size_t& count) {
  write_awaits_writable_ = false;
  for (count = 0; count < bytes.size();) {
    const std::string_view record = bytes.substr(count, kRecordBytesMax);
    size_t written = 0;
    ERR_clear_error();
    const int outcome = SSL_write_ex(ssl_, record.data(), record.size(), &written);
    const Result result = Judge(outcome, write_awaits_writable_);
    if (result != Result::kDone) return result;
    count += written;
  }
  return Result::kDone;
}

TlsStream::Result TlsStream::Read(std::span<char> buffer, size_t& count) {
  count = 0;
  ERR_clear_error();
  const int outcome = SSL_read_ex(ssl_, buffer.data(), buffer.size(), &count);
  const Result result = Judge(outcome, read_awaits_writable_);
  if (result != Result::kDone) return result;
  const bool more = count == buffer.size() || SSL_has_pending(ssl_) == 1;
  return more ? Result::kDone : Result::kBlocked;
}

// `outcome` is that of the OpenSSL call right before.
TlsStream::Result TlsStream::Judge(int outcome, bool& awaits_writable) {
  const int system_error = errno;
  awaits_writable = false;
  if (outcome == 1) return Result::kDone;
  const int error = SSL_get_error(ssl_, outcome);
  if (error == SSL_ERROR_WANT_READ) return Result::kBlocked;
  if (error == SSL_ERROR_WANT_WRITE) {
    awaits_writable = true;
    return Result::kBlocked;
  }
  evidence_.established = established_;
  evidence_.closed = error == SSL_ERROR_ZERO_RETURN;
  evidence_.system_error = error == SSL_ERROR_SYSCALL ? system_error : 0;
  evidence_.code = error == SSL_ERROR_SSL ? ERR_peek_error() : 0;
  problem_ = ProblemOfTls(evidence_);
  return Result::kBroken;
}

}  // namespace lockkeeper::redis
