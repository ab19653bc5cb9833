// SPDX-License-Identifier: Apache-2.0
// A daemon whose Redis speaks TLS: how it is told so, what stops its start, and what it outlives.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "integration/daemon/fixture.h"
#include "support/process/cluster_set.h"
#include "support/rpc/lock_requests.h"
#include "support/tls/certificate_volume.h"
#include "support/tls/test_authority.h"

namespace lockkeeper {
namespace {

using support::AcquireOf;
using support::DaemonProcess;
using support::Listening;
using support::LockClient;
using support::RedisServer;
using support::ReleaseOf;
using support::Serving;
using support::TestAuthority;
using support::TlsFiles;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kUnavailable = 69;
constexpr int kBadConfiguration = 78;

class TlsToRedisTest : public DaemonTest {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  std::vector<std::string> SettingsOf(const TlsFiles& own) const {
    return {"tls-cert-file " + own.certificate, "tls-key-file " + own.key,
            "tls-ca-cert-file " + authority_.ca_file()};
  }

  // A server that asks its clients for certificates.
  std::unique_ptr<RedisServer> Serve(const TlsFiles& own, std::vector<std::string> more = {}) {
    std::vector<std::string> settings = SettingsOf(own);
    settings.insert(settings.end(), more.begin(), more.end());
    return std::make_unique<RedisServer>(support::RedisServerOptions{
        .listening = Listening::kUnixSocketAndTls, .settings = settings});
  }

  // Whom we trust and who we are, as it should be.
  Settings Good() const {
    return {{"redis_tls_ca_file", authority_.ca_file()},
            {"redis_tls_certificate_file", own_.certificate},
            {"redis_tls_key_file", own_.key}};
  }

  std::unique_ptr<DaemonProcess> LaunchWith(const std::string& url, const Settings& settings,
                                            Arguments more = {}) {
    std::ofstream file(directory_.Path("config.yaml"));
    file << "store:\n  redis: \"" << url << "\"\n";
    for (const auto& [key, value] : settings) file << "  " << key << ": \"" << value << "\"\n";
    file.close();
    more.insert(more.end(), {"--config", directory_.Path("config.yaml")});
    return LaunchOnAnyPort(more);
  }

  static void ExpectEnd(DaemonProcess& daemon, int code, const std::string& text) {
    EXPECT_EQ(daemon.ExitCode(), code) << daemon.Stderr();
    EXPECT_THAT(daemon.Stderr(), HasSubstr(text));
    EXPECT_THAT(daemon.Stdout(), IsEmpty());
  }

  // Waits until /readyz gives such a reason. The last answer if it does not get there.
  static std::string WaitForReason(const DaemonProcess& daemon,
                                   const testing::Matcher<std::string>& wanted) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::string reason;
    do {
      reason = Get(daemon, "/readyz").body;
    } while (!wanted.Matches(reason) && std::chrono::steady_clock::now() < until);
    return reason;
  }

  TestAuthority authority_;
  const TlsFiles own_ = authority_.Issue({.common_name = "daemon"});
};

TEST_F(TlsToRedisTest, LocksAreKeptThroughMutualTls) {
  const auto redis = Serve(authority_.IssueForLocalhost(), {"user locks on >s3cret ~* &* +@all"});
  Settings settings = Good();
  std::ofstream(directory_.Path("password")) << "s3cret\n";
  settings.emplace_back("redis_password_file", directory_.Path("password"));
  const std::string address = "localhost:" + std::to_string(redis->port());
  const auto daemon = LaunchWith("rediss://locks@" + address, settings);
  daemon->WaitUntilReady();
  LockClient client(daemon->GrpcAddress());

  const auto answer = client.Acquire(AcquireOf("n"));
  ASSERT_TRUE(answer.response.has_lease()) << answer.status.error_message();
  EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_contention());
  EXPECT_TRUE(client.Release(ReleaseOf("n", answer.response.lease().lease_id())).status.ok());

  EXPECT_EQ(client.GetServerInfo().response.store().address(), address);
  EXPECT_THAT(daemon->Stderr(), Not(HasSubstr("s3cret")));
}

// The servers ask each other, and daemons, for certificates. Daemons learn of the second server
// from the first, and hear of their waiters' turns from both.
TEST_F(TlsToRedisTest, ClusterIsReachedThroughMutualTls) {
  const support::ClusterSet cluster({.primaries = 2,
                                     .settings = SettingsOf(authority_.IssueForLocalhost()),
                                     .listening = Listening::kUnixSocketAndTls});
  const auto daemon = LaunchWith(cluster.url(), Good());
  const auto other = LaunchWith(cluster.url(), Good());
  daemon->WaitUntilReady();
  other->WaitUntilReady();
  LockClient holder(daemon->GrpcAddress());
  LockClient waiter(other->GrpcAddress());
  for (const std::string name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    const auto held = holder.Acquire(AcquireOf(name));
    ASSERT_TRUE(held.response.has_lease()) << name << ": " << held.status.error_message();
    v1::AcquireRequest request = AcquireOf(name, support::NewLeaseId());
    request.mutable_wait_timeout()->set_seconds(60);
    std::thread waits([&] { EXPECT_TRUE(waiter.Acquire(request).response.has_lease()) << name; });
    EXPECT_TRUE(holder.Release(ReleaseOf(name, held.response.lease().lease_id())).ok());
    waits.join();
  }

  EXPECT_THAT(Get(*daemon, "/metrics").body,
              HasSubstr("lockkeeper_redis_cluster_primaries{state=\"connected\"} 2\n"));
}

TEST_F(TlsToRedisTest, RestartedRedisIsFoundAgain) {
  const auto redis = Serve(authority_.IssueForLocalhost());
  const auto daemon = LaunchWith(redis->url(), Good());
  daemon->WaitUntilReady();
  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kServing));
  LockClient client(daemon->GrpcAddress());
  ASSERT_TRUE(client.Acquire(AcquireOf("n")).response.has_lease());

  redis->Kill();
  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kNotServing));
  redis->Restart(support::Data::kLose);

  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kServing));
  EXPECT_EQ(client.Acquire(AcquireOf("n")).reason, "STORE_QUARANTINED") << "it answers again";
}

// Goal: certificates of both sides and their CA are renewed without a restart of the daemon.
// Method: a Redis that reads its new files when it restarts, and knows the old CA no more.
TEST_F(TlsToRedisTest, RenewedCertificatesAreUsedWithoutARestart) {
  support::CertificateVolume ours(own_, authority_.ca_file());
  support::CertificateVolume theirs(authority_.IssueForLocalhost(), authority_.ca_file());
  RedisServer redis(
      {.listening = Listening::kUnixSocketAndTls,
       .settings = {"tls-cert-file " + theirs.files().certificate,
                    "tls-key-file " + theirs.files().key, "tls-ca-cert-file " + theirs.ca_file()}});
  const auto daemon =
      LaunchWith(redis.url(), {{"redis_tls_ca_file", ours.ca_file()},
                               {"redis_tls_certificate_file", ours.files().certificate},
                               {"redis_tls_key_file", ours.files().key}});
  daemon->WaitUntilReady();
  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kServing));

  TestAuthority second("second authority");
  theirs.Publish(second.IssueForLocalhost(), second.ca_file());
  redis.Kill();
  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kNotServing));
  redis.Restart(support::Data::kLose);
  const auto untrusted = HasSubstr("that no CA trusted here has signed");
  EXPECT_THAT(WaitForReason(*daemon, untrusted), untrusted);

  ours.Publish(second.Issue({.common_name = "daemon"}), second.ca_file());
  EXPECT_TRUE(WaitForHealth(*daemon, Serving::kServing));
  EXPECT_THAT(daemon->Stderr(), HasSubstr("event=files.reloaded"));
  EXPECT_THAT(Get(*daemon, "/metrics").body,
              HasSubstr("lockkeeper_certificate_expiry_seconds{certificate=\"redis\"} 1"));
}

TEST_F(TlsToRedisTest, RefusedCertificatesEndTheStartByName) {
  TestAuthority other("other authority");
  const auto redis = Serve(authority_.IssueForLocalhost());
  const auto elsewhere = Serve(authority_.Issue({.names = {"redis.example"}}));
  support::CertificateWish wish{.addresses = {"127.0.0.1"}, .valid_from = std::chrono::hours(-48)};
  wish.valid_until = std::chrono::hours(-24);
  const auto expired = Serve(authority_.Issue(wish));
  Settings wrong_ca = Good();
  wrong_ca[0].second = other.ca_file();

  ExpectEnd(*LaunchWith(redis->url(), wrong_ca), kUnavailable,
            "that no CA trusted here has signed");
  ExpectEnd(*LaunchWith(elsewhere->url(), Good()), kUnavailable, "that is not for 127.0.0.1");
  ExpectEnd(*LaunchWith(expired->url(), Good()), kUnavailable, "that has expired");
  ExpectEnd(*LaunchWith(redis->url(), {Good()[0]}), kUnavailable,
            "asks for a client certificate, and none is given");
  const TlsFiles unknown = other.Issue({.common_name = "daemon"});
  ExpectEnd(*LaunchWith(redis->url(), {Good()[0],
                                       {"redis_tls_certificate_file", unknown.certificate},
                                       {"redis_tls_key_file", unknown.key}}),
            kUnavailable, "does not accept our client certificate");
}

TEST_F(TlsToRedisTest, BadFilesAreBadConfiguration) {
  const std::string url = "rediss://localhost";
  Settings missing = Good();
  missing[0].second = directory_.Path("none.pem");
  Settings swapped = Good();
  std::swap(swapped[1].second, swapped[2].second);

  ExpectEnd(*LaunchWith(url, missing), kBadConfiguration,
            "store.redis_tls_ca_file: \"" + missing[0].second +
                "\" cannot be opened: No such file or directory");
  ExpectEnd(*LaunchWith(url, swapped, {"--check-config"}), kBadConfiguration,
            "store.redis_tls_certificate_file: \"" + own_.key + "\" holds no certificate");
  ExpectEnd(*LaunchWith("redis://localhost", Good()), kBadConfiguration,
            "is for a store.redis that begins with rediss:// (TLS)");
  ExpectEnd(*LaunchWith("rediss://localhost:0", {}, {"--check-config"}), kBadConfiguration,
            "the port after the host must be a number from 1 to 65535");
}

TEST_F(TlsToRedisTest, WrongSchemeIsToldByHealthAndTriedAgain) {
  const auto secure = Serve(authority_.IssueForLocalhost());
  const RedisServer clear({.listening = Listening::kUnixSocketAndTcp});
  const auto port = [](const RedisServer& server) { return std::to_string(server.port()); };

  const auto needs_tls = LaunchWith("redis://127.0.0.1:" + port(*secure), {});
  needs_tls->WaitUntilReady();
  const auto tls_named = HasSubstr("does it expect TLS (rediss://)?");
  EXPECT_THAT(WaitForReason(*needs_tls, tls_named), tls_named);

  const auto needs_none = LaunchWith("rediss://127.0.0.1:" + port(clear), Good());
  needs_none->WaitUntilReady();
  const auto none_named =
      testing::AnyOf(HasSubstr("does it speak TLS there (redis:// is without)?"),
                     HasSubstr("answers, but not in TLS"));
  EXPECT_THAT(WaitForReason(*needs_none, none_named), none_named);
}

}  // namespace
}  // namespace lockkeeper
