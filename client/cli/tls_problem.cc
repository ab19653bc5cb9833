// SPDX-License-Identifier: Apache-2.0
#include "cli/tls_problem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "cli/tcp_connection.h"
#include "os/descriptor.h"
#include "tls/certificate_text.h"
#include "transport/channel_security.h"

namespace lockkeeper::cli {
namespace {

// For each step with the server.
constexpr std::chrono::seconds kPatience{2};

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};

bool IsIpAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// One handshake, and what was seen of it.
class Probe {
 public:
  // Without `tls` nothing is checked and nothing shown.
  Probe(const HostPort& where, const TlsOptions* tls)
      : tls_(tls),
        socket_(ConnectTo(where, kPatience)),
        context_(SSL_CTX_new(TLS_client_method())),
        name_(tls == nullptr || tls->server_name.empty() ? where.host : tls->server_name) {
    if (!socket_.valid() || context_ == nullptr) return;
    if (tls != nullptr && !UseFiles()) return;
    session_.reset(SSL_new(context_.get()));
    if (session_ == nullptr) return;
    SSL_set_app_data(session_.get(), this);
    SSL_set_cert_cb(session_.get(), OnCertificateAskedFor, this);
    if (tls != nullptr) {
      SSL_set_verify(session_.get(), SSL_VERIFY_PEER, OnCertificate);
      ExpectName();
    }
    constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
    SSL_set_alpn_protos(session_.get(), kHttp2.data(), kHttp2.size());
    SSL_set_fd(session_.get(), socket_.get());
    ERR_clear_error();
    shaken_ = SSL_connect(session_.get()) == 1;
    // Under TLS 1.3 the server judges our certificate after our side of the handshake; if all is
    // well, gRPC sends its settings.
    char first = 0;
    heard_ = shaken_ && SSL_read(session_.get(), &first, 1) == 1;
    code_ = ERR_peek_last_error();
  }

  bool connected() const { return session_ != nullptr; }
  // The server has taken part in a handshake.
  bool speaks_tls() const {
    return shaken_ || (session_ != nullptr && SSL_get0_peer_certificate(session_.get()) != nullptr);
  }
  bool succeeded() const { return heard_; }

  std::string Problem() const;

 private:
  static int OnCertificate(int trusted, X509_STORE_CTX* chain) {
    if (trusted == 1) return trusted;
    const auto* session = static_cast<const SSL*>(
        X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& self = *static_cast<Probe*>(SSL_get_app_data(session));
    self.verify_error_ = X509_STORE_CTX_get_error(chain);
    if (const X509* certificate = X509_STORE_CTX_get_current_cert(chain)) {
      self.certificate_ = tls::DescribeCertificate(certificate);
    }
    return trusted;
  }

  static int OnCertificateAskedFor(SSL*, void* self) {
    static_cast<Probe*>(self)->was_asked_ = true;
    return 1;
  }

  bool UseFiles() {
    SSL_CTX* const context = context_.get();
    const bool trusts = tls_->ca_file.empty()
                            ? SSL_CTX_set_default_verify_paths(context) == 1
                            : SSL_CTX_load_verify_file(context, tls_->ca_file.c_str()) == 1;
    if (!trusts) unusable_ = "the file of --tls-ca cannot be used";
    if (trusts && !tls_->certificate_file.empty()) {
      if (SSL_CTX_use_certificate_chain_file(context, tls_->certificate_file.c_str()) != 1) {
        unusable_ = "the file of --tls-cert cannot be used";
      } else if (SSL_CTX_use_PrivateKey_file(context, tls_->key_file.c_str(), SSL_FILETYPE_PEM) !=
                 1) {
        unusable_ = "the file of --tls-key holds no key that belongs to the certificate";
      }
    }
    ERR_clear_error();
    return unusable_.empty();
  }

  void ExpectName() {
    if (IsIpAddress(name_)) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), name_.c_str());
      return;
    }
    SSL_set1_host(session_.get(), name_.c_str());
    SSL_set_tlsext_host_name(session_.get(), name_.c_str());
  }

  const TlsOptions* const tls_;
  const os::Descriptor socket_;
  const std::unique_ptr<SSL_CTX, FreeContext> context_;
  const std::string name_;
  std::unique_ptr<SSL, FreeSession> session_;
  std::string unusable_;
  bool shaken_ = false;
  bool heard_ = false;
  bool was_asked_ = false;
  int verify_error_ = X509_V_OK;
  std::string certificate_;  // That is wrong.
  unsigned long code_ = 0;   // Of OpenSSL's queue of errors.
};

std::string Probe::Problem() const {
  if (!unusable_.empty()) return unusable_;
  const std::string shown = "the daemon's certificate (" + certificate_ + ") ";
  switch (verify_error_) {
    case X509_V_OK:
      break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return shown + "is not for " + name_ +
             ": use a name that it is for in --server, or in --server-name";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return shown + "has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return shown + "is not valid yet: is the clock here right?";
    default:
      return shown + "is not signed by a CA that is trusted here (" +
             X509_verify_cert_error_string(verify_error_) + "): name its CA in --tls-ca";
  }
  const bool shows = !tls_->certificate_file.empty();
  if (was_asked_ && !shows) {
    return "the daemon asks for a certificate, and none is given: use --tls-cert and --tls-key";
  }
  const int reason = ERR_GET_REASON(code_);
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG) {
    return "it answers, but without TLS: leave the --tls options and tls:// out";
  }
  const char* const text = ERR_reason_error_string(code_);
  const std::string why = text == nullptr ? "" : " (" + std::string(text) + ")";
  if (was_asked_) return "the daemon does not accept the certificate of --tls-cert" + why;
  return text == nullptr ? "" : "the TLS handshake failed: " + std::string(text);
}

}  // namespace

std::optional<std::string> FindTlsProblem(const std::string& address, const TlsOptions& tls) {
  if (address.starts_with("unix:")) return std::nullopt;
  const HostPort where = SplitHostPort(client::ChannelSecurity::TargetOf(address));
  if (!client::UsesTls(address, tls)) {
    if (!Probe(where, nullptr).speaks_tls()) return std::nullopt;
    return "it speaks TLS: give its CA by --tls-ca, or write tls:// before the address";
  }
  const Probe probe(where, &tls);
  if (probe.succeeded()) return std::nullopt;
  std::string problem = probe.Problem();
  if (problem.empty()) return std::nullopt;
  return problem;
}

Report WithTlsProblem(Report report, const Service& service) {
  if (!report.is_error || report.exit_code != static_cast<int>(ExitCode::kUnavailable)) {
    return report;
  }
  std::string problems;
  for (const std::string& address : service.servers) {
    if (const auto problem = FindTlsProblem(address, service.tls)) {
      problems += (problems.empty() ? "" : "; ") + address + ": " + *problem;
    }
  }
  if (problems.empty()) return report;
  Report refused("error", ExitCode::kNotAllowed, "lockkeeper: " + problems + " (TLS)");
  refused.is_error = true;
  refused.json.Set("reason", "TLS").Set("message", problems);
  return refused;
}

}  // namespace lockkeeper::cli
