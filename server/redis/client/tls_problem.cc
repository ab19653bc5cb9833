// SPDX-License-Identifier: Apache-2.0
#include "redis/client/tls_problem.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <system_error>

namespace lockkeeper::redis {
namespace {

using Kind = StoreProblem::Kind;

constexpr std::string_view kClosed = ": Server closed the connection";

StoreProblem Refused(std::string text) { return {Kind::kRefused, std::move(text)}; }
StoreProblem Unreachable(std::string text) { return {Kind::kUnreachable, std::move(text)}; }

StoreProblem ProblemOfCertificate(const TlsEvidence& evidence) {
  const std::string shows = " shows a certificate (" + evidence.certificate + ") ";
  const std::string reason = X509_verify_cert_error_string(evidence.verify_error);
  switch (evidence.verify_error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return Refused(shows + "that no CA trusted here has signed (" + reason +
                     "): name its CA in store.redis_tls_ca_file");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Refused(shows + "that is not for " + evidence.expected_name +
                     ": call the server in store.redis by a name of its certificate, or say that "
                     "name in store.redis_tls_server_name");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Refused(shows + "that has expired: renew it");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Refused(shows + "that is not valid yet: is the clock here right?");
    default:
      return Refused(shows + "that cannot be trusted: " + reason);
  }
}

// What the server says of our certificate.
bool IsAboutCertificate(int alert) {
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_DECRYPT_ERROR:
      return true;
    default:
      return false;
  }
}

StoreProblem ProblemOfAlert(const TlsEvidence& evidence, int alert) {
  const std::string name = SSL_alert_desc_string_long(alert);
  const bool has_own = !evidence.own_certificate.empty();
  if (evidence.was_asked && !has_own &&
      (IsAboutCertificate(alert) || alert == SSL_AD_HANDSHAKE_FAILURE)) {
    return Refused(" asks for a client certificate, and none is given (TLS alert: " + name +
                   "): set store.redis_tls_certificate_file and store.redis_tls_key_file");
  }
  if (IsAboutCertificate(alert) && has_own) {
    return Refused(" does not accept our client certificate \"" + evidence.own_certificate +
                   "\" (TLS alert: " + name +
                   "): is it valid, and signed by a CA that the server trusts?");
  }
  switch (alert) {
    case SSL_AD_PROTOCOL_VERSION:
      return Refused(" has no TLS version in common with us: TLS 1.2 or later is needed");
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_INSUFFICIENT_SECURITY:
    case SSL_AD_UNRECOGNIZED_NAME:
    case SSL_AD_NO_APPLICATION_PROTOCOL:
      return Refused(" refuses the TLS handshake (TLS alert: " + name + ")");
    default:
      return Unreachable(" ends the TLS connection (TLS alert: " + name + ")");
  }
}

StoreProblem ProblemOfCode(const TlsEvidence& evidence) {
  const int reason = ERR_GET_REASON(evidence.code);
  if (reason > SSL_AD_REASON_OFFSET && reason <= SSL_AD_REASON_OFFSET + 255) {
    return ProblemOfAlert(evidence, reason - SSL_AD_REASON_OFFSET);
  }
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
    case SSL_R_VERSION_TOO_LOW:
      return Refused(" has no TLS version in common with us: TLS 1.2 or later is needed");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST:
      if (evidence.established) break;
      return Unreachable(" answers, but not in TLS: is this its port for redis://?");
    default:
      break;
  }
  const char* text = ERR_reason_error_string(evidence.code);
  return Unreachable(": TLS: " + std::string(text == nullptr ? "unknown error" : text));
}

bool IsEndOfStream(const TlsEvidence& evidence) {
  if (evidence.closed || ERR_GET_REASON(evidence.code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    return true;
  }
  return evidence.code == 0 && evidence.system_error == 0;
}

}  // namespace

StoreProblem ProblemOfTls(const TlsEvidence& evidence) {
  if (evidence.verify_error != X509_V_OK) return ProblemOfCertificate(evidence);
  const std::string when = evidence.established ? "" : " in the TLS handshake";
  if (IsEndOfStream(evidence)) return Unreachable(std::string(kClosed) + when);
  if (evidence.system_error != 0) {
    return Unreachable(": " + std::generic_category().message(evidence.system_error) + when);
  }
  return ProblemOfCode(evidence);
}

}  // namespace lockkeeper::redis
