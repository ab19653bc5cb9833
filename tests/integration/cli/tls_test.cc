// SPDX-License-Identifier: Apache-2.0
// The command line and the C++ client over TLS: they lock, and each check that fails is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lockkeeper/client.h"
#include "os/descriptor.h"
#include "support/process/cli_process.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"
#include "support/tls/certificate_volume.h"
#include "support/tls/test_authority.h"
#include "support/tls/tls_acceptor.h"

namespace lockkeeper {
namespace {

using std::chrono::hours;
using support::CliResult;
using support::TestAuthority;
using support::TlsFiles;
using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

constexpr int kUsage = 64;
constexpr int kNotAllowed = 77;

class CliTlsTest : public testing::Test {
 protected:
  // With one listener, `scheme`127.0.0.1.
  std::unique_ptr<support::DaemonProcess> Serve(const std::string& scheme, const TlsFiles& own,
                                                const std::string& http_scheme = "") {
    Words arguments = {"--redis",       redis_.unix_url(),
                       "--listen",      scheme + "127.0.0.1:0",
                       "--http-listen", http_scheme + "127.0.0.1:0"};
    if (!scheme.empty()) {
      arguments.insert(arguments.end(), {"--tls-cert", own.certificate, "--tls-key", own.key});
    }
    if (scheme == "mtls://") {
      arguments.insert(arguments.end(), {"--tls-client-ca", authority_.ca_file()});
    }
    auto daemon = std::make_unique<support::DaemonProcess>(
        support::DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM, .arguments = arguments});
    daemon->WaitUntilReady();
    return daemon;
  }

  // "127.0.0.1:4711"
  static std::string PlaceOf(const support::DaemonProcess& daemon) {
    return WithoutScheme(daemon.GrpcAddress());
  }
  static std::string WithoutScheme(const std::string& address) {
    const size_t scheme = address.find("://");
    return scheme == std::string::npos ? address : address.substr(scheme + 3);
  }

  static CliResult Run(const std::string& server, Words options,
                       const Words& command = {"acquire", "n"}) {
    options.insert(options.end(), command.begin(), command.end());
    return support::RunCli(LOCKKEEPER_PROGRAM, server, options);
  }

  // What cannot succeed is not tried for long.
  static CliResult Try(const std::string& server, Words options,
                       const Words& command = {"acquire", "n"}) {
    options.insert(options.begin(), {"--timeout", "300ms"});
    return Run(server, std::move(options), command);
  }

  Words Trusting() const { return {"--tls-ca", authority_.ca_file()}; }
  Words Showing(const TlsFiles& own) const {
    return {"--tls-ca", authority_.ca_file(), "--tls-cert", own.certificate, "--tls-key", own.key};
  }

  static void ExpectRefused(const CliResult& result, const std::string& text) {
    EXPECT_EQ(result.exit_code, kNotAllowed);
    EXPECT_THAT(result.err, HasSubstr(text));
  }

  support::RedisServer redis_;
  TestAuthority authority_;
  const TlsFiles own_ = authority_.IssueForLocalhost();
  const TlsFiles client_ = authority_.Issue({.common_name = "client"});
};

TEST_F(CliTlsTest, LocksOverTlsAndMutualTls) {
  const auto tls = Serve("tls://", own_);
  const auto mutual = Serve("mtls://", own_);

  for (const Words& command :
       {Words{"acquire", "n", "--ttl", "1s", "--wait", "5s"}, Words{"health"}, Words{"list"},
        Words{"run", "m", "--wait", "5s", "--", "true"}}) {
    EXPECT_EQ(Run(PlaceOf(*tls), Trusting(), command).exit_code, 0);
    EXPECT_EQ(Run("tls://" + PlaceOf(*tls), Trusting(), command).exit_code, 0);
    const CliResult result = Run(PlaceOf(*mutual), Showing(client_), command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

TEST_F(CliTlsTest, InfoAndDoctorTellOfCertificatesAndOfFilesThatCannotBeUsed) {
  const auto daemon = Serve("tls://", own_);
  const std::string place = PlaceOf(*daemon);

  EXPECT_THAT(Run(place, Trusting(), {"info"}).out,
              HasSubstr("\n  certificate    server: expires 20"));
  CliResult doctor = Run(place, Trusting(), {"doctor"});
  EXPECT_EQ(doctor.exit_code, 1) << "it ends tomorrow";
  EXPECT_THAT(doctor.out,
              HasSubstr("\n  warning certificate: the certificate `server` expires in "));
  EXPECT_THAT(doctor.out, HasSubstr("\n  ok      tls: the connection is encrypted\n"));

  std::ofstream(own_.certificate) << "no certificate\n";
  ASSERT_TRUE(support::WaitUntil([&] {
    return Run(place, Trusting(), {"info"}).out.find("\n  not in use     server_tls: ") !=
           std::string::npos;
  }));
  doctor = Run(place, Trusting(), {"doctor"});
  EXPECT_EQ(doctor.exit_code, 1);
  EXPECT_THAT(doctor.out,
              HasSubstr("\n  warning files: changed files of server_tls cannot be used"));

  const TestAuthority other("other authority");
  doctor = Run(place, {"--tls-ca", other.ca_file()}, {"doctor"});
  EXPECT_EQ(doctor.exit_code, 2);
  EXPECT_THAT(doctor.out, HasSubstr("\n  error   tls: "));
}

TEST_F(CliTlsTest, VariablesAreTheSame) {
  const auto mutual = Serve("mtls://", authority_.Issue({.names = {"locks.example"}}));
  setenv("LOCKKEEPER_TLS_CA", authority_.ca_file().c_str(), 1);
  setenv("LOCKKEEPER_TLS_CERT", client_.certificate.c_str(), 1);
  setenv("LOCKKEEPER_TLS_KEY", client_.key.c_str(), 1);
  setenv("LOCKKEEPER_SERVER_NAME", "locks.example", 1);
  const CliResult result = Run(PlaceOf(*mutual), {});
  for (const char* name : {"LOCKKEEPER_TLS_CA", "LOCKKEEPER_TLS_CERT", "LOCKKEEPER_TLS_KEY",
                           "LOCKKEEPER_SERVER_NAME"}) {
    unsetenv(name);
  }
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(CliTlsTest, DaemonThatCannotBeTrustedIsNamed) {
  const TestAuthority other("other authority");
  const auto daemon = Serve("tls://", own_);
  const std::string place = PlaceOf(*daemon);

  ExpectRefused(
      Try(place, {"--tls-ca", other.ca_file()}),
      place + ": the daemon's certificate (CN = server, for localhost, 127.0.0.1, valid until ");
  ExpectRefused(Try(place, {"--tls-ca", other.ca_file()}),
                "is not signed by a CA that is trusted here");
  ExpectRefused(Try("tls://" + place, {}), "is not signed by a CA that is trusted here");
  Words elsewhere = Trusting();
  elsewhere.insert(elsewhere.end(), {"--server-name", "locks.example"});
  ExpectRefused(Try(place, elsewhere), "is not for locks.example");
  ExpectRefused(Try(place, elsewhere, {"health"}), "is not for locks.example");
  const CliResult json = Try(place, {"--tls-ca", other.ca_file(), "--output", "json"});
  EXPECT_THAT(json.out, HasSubstr(R"("reason":"TLS")"));
}

TEST_F(CliTlsTest, HealthOverHttpIsNotToldOfTheTlsOfGrpc) {
  const auto daemon = Serve("tls://", own_);

  EXPECT_EQ(Run(PlaceOf(*daemon), {}, {"health", "--http", daemon->HttpAddress()}).exit_code, 0);
  const CliResult nobody = Try(PlaceOf(*daemon), {}, {"health", "--http", "127.0.0.1:1"});
  EXPECT_EQ(nobody.exit_code, 69);
  EXPECT_THAT(nobody.err, HasSubstr("127.0.0.1:1: Connection refused"));
}

TEST_F(CliTlsTest, HealthOverHttpSaysThatThePortMayHaveTls) {
  const auto daemon = Serve("tls://", own_, "tls://");

  const CliResult result =
      Try(PlaceOf(*daemon), {}, {"health", "--http", WithoutScheme(daemon->HttpAddress())});

  EXPECT_EQ(result.exit_code, 69);
  EXPECT_THAT(result.err, HasSubstr("TLS"));
}

// Answers handshakes with a certificate that no daemon would start with, and nothing else.
class HandshakeServer {
 public:
  explicit HandshakeServer(const TlsFiles& own)
      : acceptor_(own), socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(socket_.get(), 16), 0);
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    place_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] {
      while (true) {
        const os::Descriptor client(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client.valid()) return;
        acceptor_.Accept(client.get());
      }
    });
  }
  ~HandshakeServer() {
    shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }

  const std::string& place() const { return place_; }

 private:
  const support::TlsAcceptor acceptor_;
  const os::Descriptor socket_;
  std::string place_;
  std::thread thread_;
};

TEST_F(CliTlsTest, CertificateOutsideItsTimeIsNamed) {
  const HandshakeServer expired(authority_.Issue(
      {.addresses = {"127.0.0.1"}, .valid_from = hours(-48), .valid_until = hours(-24)}));
  const HandshakeServer early(authority_.Issue(
      {.addresses = {"127.0.0.1"}, .valid_from = hours(24), .valid_until = hours(48)}));

  ExpectRefused(Try(expired.place(), Trusting()), ") has expired (TLS)");
  ExpectRefused(Try(early.place(), Trusting()), ") is not valid yet: is the clock here right?");
}

TEST_F(CliTlsTest, ClientThatIsNotTrustedIsTold) {
  TestAuthority other("other authority");
  const auto daemon = Serve("mtls://", own_);
  const std::string place = PlaceOf(*daemon);

  ExpectRefused(
      Try(place, Trusting()),
      "the daemon asks for a certificate, and none is given: use --tls-cert and --tls-key");
  ExpectRefused(Try(place, Showing(other.Issue({.common_name = "client"}))),
                "the daemon does not accept the certificate of --tls-cert");
  ExpectRefused(Try(place, Showing(authority_.Issue({.common_name = "late",
                                                     .valid_from = hours(-48),
                                                     .valid_until = hours(-24)}))),
                "the daemon does not accept the certificate of --tls-cert");
}

TEST_F(CliTlsTest, OnlyOneOfTheTwoSpeaksTls) {
  const auto plain = Serve("", own_);
  const auto tls = Serve("tls://", own_);
  const auto mutual = Serve("mtls://", own_);

  ExpectRefused(Try(PlaceOf(*plain), Trusting()),
                "it answers, but without TLS: leave the --tls options and tls:// out");
  ExpectRefused(Try(PlaceOf(*tls), {}), "it speaks TLS: give its CA by --tls-ca");
  ExpectRefused(Try(PlaceOf(*mutual), {}), "it speaks TLS: give its CA by --tls-ca");
}

TEST_F(CliTlsTest, FilesThatCannotBeUsedAreNamedAtOnce) {
  const auto expect = [](const Words& options, const std::string& text) {
    for (const Words& command : {Words{"health"}, Words{"acquire", "n"}}) {
      const CliResult result = Try("127.0.0.1:1", options, command);
      EXPECT_EQ(result.exit_code, kUsage);
      EXPECT_THAT(result.err, StartsWith("lockkeeper: " + text));
    }
  };
  expect({"--tls-ca", "/none.pem"},
         "--tls-ca (or LOCKKEEPER_TLS_CA): \"/none.pem\" cannot be opened: No such file or "
         "directory\n");
  expect({"--tls-cert", own_.certificate},
         "--tls-cert (or LOCKKEEPER_TLS_CERT): needs its key too\n");
  expect({"--tls-cert", own_.key, "--tls-key", own_.key},
         "--tls-cert (or LOCKKEEPER_TLS_CERT): \"" + own_.key + "\" has no line with \"-----BEGIN");
}

TEST_F(CliTlsTest, ServiceThatIsAwayIsNotTakenForTls) {
  const CliResult result = Try("127.0.0.1:1", Trusting());
  EXPECT_EQ(result.exit_code, 69);
  EXPECT_THAT(result.err, HasSubstr("connection refused"));
}

// Goal: a client that runs for long does not need to be restarted when certificates are renewed.
// Method: the daemon is replaced by one of another CA on the same port, which did not sign the
// client's old certificate.
TEST_F(CliTlsTest, RunningClientUsesItsNewFiles) {
  support::CertificateVolume volume(client_, authority_.ca_file());
  auto daemon = Serve("mtls://", own_);
  const std::string place = PlaceOf(*daemon);
  auto client = Client::Create({.addresses = {"tls://" + place},
                                .tls = {.ca_file = volume.ca_file(),
                                        .certificate_file = volume.files().certificate,
                                        .key_file = volume.files().key}});
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE(client->Acquire("first", {})) << "over the old ones";

  TestAuthority second("second authority");
  const TlsFiles renewed = second.IssueForLocalhost();
  volume.Publish(second.Issue({.common_name = "client"}), second.ca_file());
  daemon->Signal(SIGTERM);
  daemon->WaitForEnd();
  support::DaemonProcess next(support::DaemonProcessOptions{
      .program = LOCKKEEPERD_PROGRAM,
      .arguments = {"--redis", redis_.unix_url(), "--listen", "mtls://" + place, "--http-listen",
                    "127.0.0.1:0", "--tls-cert", renewed.certificate, "--tls-key", renewed.key,
                    "--tls-client-ca", second.ca_file()}});
  next.WaitUntilReady();

  EXPECT_TRUE(client->Acquire("second", {})) << "over the new ones";
}

}  // namespace
}  // namespace lockkeeper
