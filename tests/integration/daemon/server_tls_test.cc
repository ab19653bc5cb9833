// SPDX-License-Identifier: Apache-2.0
// A daemon whose clients speak TLS: whom it lets in, what it refuses, and what a change of its
// files does.
#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <fstream>

#include "integration/daemon/fixture.h"
#include "listen/listener.h"
#include "support/process/http_get.h"
#include "support/process/read_text.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/secure_channel.h"
#include "support/tls/certificate_volume.h"
#include "support/tls/test_authority.h"
#include "support/tls/tls_client.h"

namespace lockkeeper {
namespace {

using std::chrono::hours;
using support::AcquireOf;
using support::CertificateVolume;
using support::ClientFiles;
using support::DaemonProcess;
using support::LockClient;
using support::RedisServer;
using support::ReleaseOf;
using support::TestAuthority;
using support::TlsClient;
using support::TlsFiles;
using testing::HasSubstr;

constexpr int kBadConfiguration = 78;
constexpr std::chrono::seconds kDeadline{20};

uint16_t PortIn(const std::string& address) {
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

class ServerTlsTest : public DaemonTest {
 protected:
  static Arguments Concat(Arguments first, const Arguments& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  Arguments Tls(const TlsFiles& own) const {
    return {"--tls-cert", own.certificate, "--tls-key", own.key, "--redis", redis_.url()};
  }

  // Ready, at `listen` and with HTTP over TLS.
  std::unique_ptr<DaemonProcess> StartTls(const Arguments& listen, const TlsFiles& own) const {
    Arguments arguments = {"--http-listen", "tls://127.0.0.1:0"};
    for (const std::string& address : listen) {
      arguments.insert(arguments.end(), {"--listen", address});
      if (address.starts_with("mtls")) {
        arguments.insert(arguments.end(), {"--tls-client-ca", authority_.ca_file()});
      }
    }
    auto daemon = Launch(Concat(arguments, Tls(own)));
    daemon->WaitUntilReady();
    return daemon;
  }

  static bool Locks(const std::shared_ptr<grpc::Channel>& channel) {
    LockClient client(channel, kDeadline);
    const auto acquired = client.Acquire(AcquireOf("n"));
    if (!acquired.response.has_lease()) return false;
    return client.Release(ReleaseOf("n", acquired.response.lease().lease_id())).ok();
  }

  static std::string MetricsOf(const DaemonProcess& daemon) {
    const std::string answer = AnswerTo("/metrics", daemon, {.alpn = "http/1.1"});
    EXPECT_THAT(answer, HasSubstr("200 OK"));
    return answer;
  }

  // Over HTTP. Empty if the daemon wants nothing to do with the client.
  static std::string AnswerTo(const std::string& path, const DaemonProcess& daemon,
                              const support::TlsClientOptions& options) {
    TlsClient client(PortIn(daemon.HttpAddress()), options);
    client.Write("GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n");
    return client.ReadAll();
  }

  // Over HTTP with mutual TLS of either version. 0: refused.
  static int HttpStatusFor(const TlsFiles& shown, const DaemonProcess& daemon, int version) {
    const std::string answer =
        AnswerTo("/healthz", daemon, {.own = shown, .version_max = version, .alpn = "http/1.1"});
    return support::ParseHttpAnswer(answer).status;
  }

  RedisServer redis_;
  TestAuthority authority_;
  const TlsFiles own_ = authority_.IssueForLocalhost();
  const TlsFiles client_ = authority_.Issue({.common_name = "client"});
};

TEST_F(ServerTlsTest, EachListenerHasItsOwnSecurity) {
  const std::string socket = directory_.Path("s");
  const TlsFiles own =
      authority_.Issue({.common_name = "server", .addresses = {"127.0.0.1", "::1"}});
  const auto daemon =
      StartTls({"127.0.0.1:0", "tls://localhost:0", "mtls://127.0.0.1:0", "unix:" + socket}, own);
  const std::vector<std::string> addresses = daemon->GrpcAddresses();
  ASSERT_EQ(addresses.size(), 4U);
  EXPECT_TRUE(addresses[1].starts_with("tls://")) << addresses[1];
  EXPECT_TRUE(addresses[2].starts_with("mtls://")) << addresses[2];

  EXPECT_TRUE(Locks(LockClient(addresses[0]).channel()));
  // localhost is both. By address: c-ares 1.18 leaks a few bytes when it resolves that name.
  std::vector<std::string> hosts = {"127.0.0.1"};
  if (listen::Listen({.host = "::1"}).ok()) hosts.emplace_back("[::1]");  // There is IPv6.
  for (const std::string& host : hosts) {
    EXPECT_TRUE(
        Locks(support::SecureChannel("tls://" + host + ":" + std::to_string(PortIn(addresses[1])),
                                     {.ca = authority_.ca_file()})))
        << host;
  }
  EXPECT_TRUE(Locks(support::SecureChannel(
      addresses[2],
      {.ca = authority_.ca_file(), .certificate = client_.certificate, .key = client_.key})));
  EXPECT_TRUE(Locks(LockClient(addresses[3]).channel()));
}

TEST_F(ServerTlsTest, HttpIsServedOverTls) {
  const auto daemon = StartTls({"tls://127.0.0.1:0"}, own_);
  EXPECT_TRUE(daemon->HttpAddress().starts_with("tls://"));

  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(PortIn(daemon->HttpAddress()),
                     {.ca_file = authority_.ca_file(), .version_max = version, .alpn = "http/1.1"});
    ASSERT_EQ(client.problem(), "");
    ASSERT_TRUE(client.Write("GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n"));
    EXPECT_THAT(client.ReadAll(), HasSubstr("200 OK"));
    EXPECT_EQ(client.version(), version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
  }
  EXPECT_THAT(MetricsOf(*daemon),
              HasSubstr("lockkeeper_certificate_expiry_seconds{certificate=\"server\"}"));
}

TEST_F(ServerTlsTest, OldVersionsAndPlainTextAreRefused) {
  const auto daemon = StartTls({"tls://127.0.0.1:0", "mtls://127.0.0.1:0"}, own_);
  Arguments addresses = daemon->GrpcAddresses();
  addresses.push_back(daemon->HttpAddress());

  for (const std::string& address : addresses) {
    SCOPED_TRACE(address);
    const auto problem_with = [&](int version_max) {
      return TlsClient(PortIn(address), {.own = client_, .version_max = version_max}).problem();
    };
    EXPECT_EQ(problem_with(TLS1_1_VERSION), "unexpected eof while reading");
    EXPECT_EQ(problem_with(TLS1_2_VERSION), "");
    EXPECT_EQ(support::HttpGet("127.0.0.1:" + std::to_string(PortIn(address)), "/readyz").status,
              0);
  }
  const LockClient plain("127.0.0.1:" + std::to_string(PortIn(addresses[0])), kDeadline);
  EXPECT_FALSE(Locks(plain.channel()));
  EXPECT_TRUE(Locks(support::SecureChannel(addresses[0], {.ca = authority_.ca_file()})));
}

TEST_F(ServerTlsTest, ClientThatProvesNothingIsRefused) {
  const auto daemon = StartTls({"mtls://127.0.0.1:0"}, own_);
  TestAuthority other("other authority");
  const std::string address = daemon->GrpcAddress();
  const auto with = [&](const TlsFiles& files) {
    return support::SecureChannel(
        address, {.ca = authority_.ca_file(), .certificate = files.certificate, .key = files.key});
  };

  EXPECT_FALSE(Locks(support::SecureChannel(address, {.ca = authority_.ca_file()})));
  EXPECT_FALSE(Locks(with(other.Issue({.common_name = "client"}))));
  EXPECT_FALSE(Locks(with(authority_.Issue(
      {.common_name = "late", .valid_from = hours(-48), .valid_until = hours(-24)}))));
  EXPECT_FALSE(Locks(
      with(authority_.Issue({.common_name = "server only", .extended_key_usage = "serverAuth"}))));
  EXPECT_TRUE(Locks(with(client_)));
}

TEST_F(ServerTlsTest, HttpRefusesWhoProvesNothing) {
  CertificateVolume volume(own_, authority_.ca_file());
  const auto daemon = Launch(Concat({"--listen", "127.0.0.1:0", "--http-listen",
                                     "mtls://127.0.0.1:0", "--tls-client-ca", volume.ca_file()},
                                    Tls(volume.files())));
  daemon->WaitUntilReady();
  EXPECT_TRUE(daemon->HttpAddress().starts_with("mtls://"));
  TestAuthority other("other authority");
  const TlsFiles strange = other.Issue({.common_name = "client"});

  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto status_for = [&](const TlsFiles& shown) {
      return HttpStatusFor(shown, *daemon, version);
    };
    EXPECT_EQ(status_for(client_), 200);
    EXPECT_EQ(status_for({}), 0);
    EXPECT_EQ(status_for(strange), 0);
    EXPECT_EQ(status_for(authority_.Issue({.valid_from = hours(-48), .valid_until = hours(-24)})),
              0);
    EXPECT_EQ(status_for(authority_.Issue({.valid_from = hours(24), .valid_until = hours(48)})), 0);
    EXPECT_EQ(status_for(authority_.Issue({.extended_key_usage = "serverAuth"})), 0);
    EXPECT_EQ(status_for(authority_.Issue({.extended_key_usage = "clientAuth"})), 200);
  }

  // New CAs count at once.
  volume.Publish(own_, other.ca_file());
  daemon->WaitForLog("event=files.reloaded");
  EXPECT_EQ(HttpStatusFor(strange, *daemon, TLS1_3_VERSION), 200);
  EXPECT_EQ(HttpStatusFor(client_, *daemon, TLS1_3_VERSION), 0);
}

TEST_F(ServerTlsTest, BadFilesEndTheStartByName) {
  const TlsFiles other = authority_.IssueForLocalhost();
  const TlsFiles expired = authority_.Issue({.valid_from = hours(-48), .valid_until = hours(-24)});
  const auto end_of = [&](const Arguments& arguments) {
    const auto daemon =
        Launch(Concat({"--check-config", "--listen", "tls://127.0.0.1:0"}, arguments));
    EXPECT_EQ(daemon->ExitCode(), kBadConfiguration);
    return daemon->Stderr();
  };

  EXPECT_THAT(end_of(Tls({directory_.Path("none.pem"), own_.key})),
              HasSubstr("server.tls_certificate_file: \"" + directory_.Path("none.pem") +
                        "\" cannot be opened: No such file or directory"));
  EXPECT_THAT(end_of(Tls({own_.certificate, other.key})),
              HasSubstr("server.tls_key_file: \"" + other.key + "\" is not the key of"));
  EXPECT_THAT(end_of(Tls(expired)), HasSubstr("holds a certificate that has expired on "));
  EXPECT_THAT(end_of(Tls({own_.key, own_.key})), HasSubstr("holds no certificate in PEM form"));
  EXPECT_THAT(end_of({"--redis", redis_.url()}), HasSubstr("needs a certificate: give --tls-cert"));
}

// Goal: new certificates are used without a restart, and no request notices. Method: clients that
// lock all the time, each on a new connection, while the files change as Kubernetes changes them.
TEST_F(ServerTlsTest, NewFilesAreUsedWithoutARestart) {
  CertificateVolume volume(own_, authority_.ca_file());
  const auto daemon = Launch(Concat({"--listen", "mtls://127.0.0.1:0", "--http-listen",
                                     "tls://127.0.0.1:0", "--tls-client-ca", volume.ca_file()},
                                    Tls(volume.files())));
  daemon->WaitUntilReady();
  const uint16_t port = PortOf(*daemon);
  const auto shown = [&](uint16_t where) { return TlsClient(where, {}).certificate(); };
  EXPECT_EQ(shown(port), support::ReadText(own_.certificate));
  const auto channel = support::SecureChannel(
      daemon->GrpcAddress(),
      {.ca = authority_.ca_file(), .certificate = client_.certificate, .key = client_.key});
  EXPECT_TRUE(Locks(channel));

  // The new CA did not sign the old client.
  TestAuthority second("second authority");
  const TlsFiles renewed = second.IssueForLocalhost();
  const TlsFiles new_client = second.Issue({.common_name = "client"});
  volume.Publish(renewed, second.ca_file());
  daemon->WaitForLog("event=files.reloaded");

  EXPECT_EQ(shown(port), support::ReadText(renewed.certificate));
  EXPECT_EQ(shown(PortIn(daemon->HttpAddress())), support::ReadText(renewed.certificate));
  EXPECT_TRUE(Locks(support::SecureChannel(
      daemon->GrpcAddress(),
      {.ca = second.ca_file(), .certificate = new_client.certificate, .key = new_client.key})));
  EXPECT_FALSE(Locks(support::SecureChannel(
      daemon->GrpcAddress(),
      {.ca = second.ca_file(), .certificate = client_.certificate, .key = client_.key})));
  EXPECT_TRUE(Locks(channel)) << "connections that exist go on";
}

TEST_F(ServerTlsTest, BrokenNewFilesLeaveTheOldOnesInUse) {
  CertificateVolume volume(own_, authority_.ca_file());
  const auto daemon = StartTls({"tls://127.0.0.1:0"}, volume.files());
  const TlsFiles other = authority_.IssueForLocalhost();

  volume.Publish({other.certificate, own_.key}, authority_.ca_file());
  daemon->WaitForLog("event=files.refused");

  EXPECT_THAT(daemon->Stderr(), HasSubstr("is not the key of the certificate"));
  EXPECT_EQ(TlsClient(PortOf(*daemon), {}).certificate(), support::ReadText(own_.certificate));
  EXPECT_TRUE(Locks(support::SecureChannel(daemon->GrpcAddress(), {.ca = authority_.ca_file()})));
  EXPECT_THAT(
      MetricsOf(*daemon),
      HasSubstr("lockkeeper_file_reload_total{files=\"server_tls\",outcome=\"refused\"} 1"));

  volume.Publish(other, authority_.ca_file());
  daemon->WaitForLog("event=files.reloaded");
  EXPECT_EQ(TlsClient(PortOf(*daemon), {}).certificate(), support::ReadText(other.certificate));
}

}  // namespace
}  // namespace lockkeeper
