// SPDX-License-Identifier: Apache-2.0
// What a failure of TLS is called, and whether it is permanent: those that real servers seldom
// bring about.
#include "redis/client/tls_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <cerrno>

namespace lockkeeper::redis {
namespace {

using Kind = StoreProblem::Kind;
using ::testing::HasSubstr;
using ::testing::StartsWith;

unsigned long CodeOf(int reason) { return ERR_PACK(ERR_LIB_SSL, 0, reason); }

StoreProblem OfAlert(int alert, TlsEvidence evidence = {}) {
  evidence.code = CodeOf(SSL_AD_REASON_OFFSET + alert);
  return ProblemOfTls(evidence);
}

void Expect(const StoreProblem& problem, Kind kind, const std::string& text) {
  EXPECT_EQ(problem.kind, kind) << problem.text;
  EXPECT_THAT(problem.text, HasSubstr(text));
}

TEST(TlsProblemTest, EndOfTheStreamMayPass) {
  Expect(ProblemOfTls({.closed = true}), Kind::kUnreachable,
         ": Server closed the connection in the TLS handshake");
  Expect(ProblemOfTls({.code = CodeOf(SSL_R_UNEXPECTED_EOF_WHILE_READING)}), Kind::kUnreachable,
         ": Server closed the connection in the TLS handshake");
  EXPECT_EQ(ProblemOfTls({.established = true}).text, ": Server closed the connection");
}

TEST(TlsProblemTest, ErrorOfTheSocketMayPass) {
  const StoreProblem problem = ProblemOfTls({.established = true, .system_error = ECONNRESET});
  EXPECT_EQ(problem, (StoreProblem{Kind::kUnreachable, ": Connection reset by peer"}));
}

TEST(TlsProblemTest, WordsInTheClearAreToldFromABrokenRecord) {
  TlsEvidence evidence{.code = CodeOf(SSL_R_WRONG_VERSION_NUMBER)};
  Expect(ProblemOfTls(evidence), Kind::kUnreachable, " answers, but not in TLS");

  evidence.established = true;
  Expect(ProblemOfTls(evidence), Kind::kUnreachable, ": TLS: wrong version number");
}

TEST(TlsProblemTest, UnknownErrorHasAName) {
  EXPECT_THAT(ProblemOfTls({.code = CodeOf(999)}).text, StartsWith(": TLS: "));
  Expect(ProblemOfTls({.verify_error = X509_V_ERR_CERT_REVOKED, .certificate = "CN=redis"}),
         Kind::kRefused, " shows a certificate (CN=redis) that cannot be trusted: ");
}

TEST(TlsProblemTest, AlertsAboutOurCertificateAreRefusals) {
  const TlsEvidence none{.was_asked = true};
  const TlsEvidence own{.own_certificate = "/own.pem", .was_asked = true};
  for (const int alert : {SSL_AD_BAD_CERTIFICATE, SSL_AD_CERTIFICATE_EXPIRED, SSL_AD_UNKNOWN_CA,
                          SSL_AD_CERTIFICATE_REQUIRED, SSL_AD_ACCESS_DENIED}) {
    SCOPED_TRACE(alert);
    Expect(OfAlert(alert, none), Kind::kRefused,
           "asks for a client certificate, and none is given");
    Expect(OfAlert(alert, own), Kind::kRefused,
           " does not accept our client certificate \"/own.pem\"");
    Expect(OfAlert(alert), Kind::kUnreachable, " ends the TLS connection");
  }
}

TEST(TlsProblemTest, AlertsThatNoTimeMendsAreRefusals) {
  for (const int alert : {SSL_AD_HANDSHAKE_FAILURE, SSL_AD_UNRECOGNIZED_NAME}) {
    Expect(OfAlert(alert), Kind::kRefused, " refuses the TLS handshake");
  }
  Expect(OfAlert(SSL_AD_PROTOCOL_VERSION), Kind::kRefused, "TLS 1.2 or later is needed");
  Expect(OfAlert(SSL_AD_INTERNAL_ERROR), Kind::kUnreachable, "internal error");
}

}  // namespace
}  // namespace lockkeeper::redis
