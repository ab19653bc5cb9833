// SPDX-License-Identifier: Apache-2.0
//
// A RedisNode on real servers that speak TLS: it works as it does in the clear, and each
// certificate that is no good is refused by what is wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node_harness.h"
#include "support/process/redis_server.h"
#include "tls_servers.h"

namespace lockkeeper::redis {
namespace {

using support::CertificateWish;
using support::Data;
using support::Listening;
using support::RedisServer;
using support::TestAuthority;
using support::TlsFiles;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using std::chrono::hours;
using std::chrono::milliseconds;

// What may be asked of the versions.
constexpr std::string_view kVersions[] = {"TLSv1.2", "TLSv1.3"};

std::string OnlyVersion(std::string_view version) {
  return "tls-protocols " + std::string(version);
}

class TlsTest : public testing::Test {
 protected:
  std::unique_ptr<RedisServer> Serve(const TlsFiles& own, AskClients ask = AskClients::kNo,
                                     std::vector<std::string> more = {}) {
    std::vector<std::string> settings = TlsSettings(own, ask, authority_);
    settings.insert(settings.end(), more.begin(), more.end());
    return std::make_unique<RedisServer>(support::RedisServerOptions{
        .listening = Listening::kUnixSocketAndTls, .settings = settings});
  }

  std::unique_ptr<RedisServer> Serve(AskClients ask = AskClients::kNo,
                                     std::vector<std::string> more = {}) {
    return Serve(authority_.IssueForLocalhost(), ask, std::move(more));
  }

  NodeHarness::Adjust With(TlsOptions tls) {
    if (tls.ca_file.empty()) tls.ca_file = authority_.ca_file();
    return [context = LoadTls(tls)](RedisNodeOptions& options) { options.tls = context; };
  }

  // The problem for which the node refuses the server, behind the server's address.
  std::string Refusal(const std::string& url, const TlsOptions& tls = {}) {
    NodeHarness harness(url, With(tls));
    const NodeHealth health =
        harness.AwaitHealth([](const NodeHealth& now) { return now.refused; });
    const std::string address = ParseRedisUrl(url)->Address();
    EXPECT_THAT(health.problem, StartsWith(address));
    return health.problem.substr(address.size());
  }

  TestAuthority authority_;
};

TEST_F(TlsTest, CommandsAreAnsweredUnderEachVersion) {
  for (const std::string_view version : kVersions) {
    SCOPED_TRACE(version);
    const auto server = Serve(AskClients::kNo, {OnlyVersion(version)});
    NodeHarness harness(server->url(), With({}));

    harness.AwaitReachable();
    EXPECT_EQ(harness.Ask({"SET", "name", "value"})->text, "OK");
    EXPECT_EQ(server->Run({"GET", "name"}).text, "value");
  }
}

TEST_F(TlsTest, NameAndAddressAreBothRight) {
  const auto server = Serve();
  const std::string port = std::to_string(server->port());

  NodeHarness by_name("rediss://localhost:" + port, With({}));
  NodeHarness by_address("rediss://127.0.0.1:" + port, With({}));
  NodeHarness by_full_name("rediss://127.0.0.1:" + port, With({.server_name = "localhost."}));

  by_name.AwaitReachable();
  by_full_name.AwaitReachable();
  by_address.AwaitReachable();
}

TEST_F(TlsTest, OurCertificateIsShownToTheServerThatAsksForIt) {
  const TlsFiles own = authority_.Issue({.common_name = "daemon"});
  for (const std::string_view version : kVersions) {
    SCOPED_TRACE(version);
    const auto server = Serve(AskClients::kYes, {OnlyVersion(version)});
    NodeHarness harness(server->url(),
                        With({.certificate_file = own.certificate, .key_file = own.key}));

    harness.AwaitReachable();
    EXPECT_EQ(harness.Ask({"PING"})->text, "PONG");
  }
}

TEST_F(TlsTest, UserAndPasswordAreSentThroughIt) {
  const auto server = Serve(AskClients::kNo, {"user locks on >s3cret ~* &* +@all"});
  const std::string port = std::to_string(server->port());

  NodeHarness right("rediss://locks:s3cret@127.0.0.1:" + port, With({}));

  right.AwaitReachable();
  EXPECT_THAT(Refusal("rediss://locks:wrong@127.0.0.1:" + port),
              HasSubstr("answered AUTH with: WRONGPASS"));
}

// Goal: nothing is lost or mixed up where a command or a reply is larger than a record, and where
// the socket takes a part only. Method: megabytes in both directions, all at once.
TEST_F(TlsTest, LargePipelinesArriveWholeAndInOrder) {
  constexpr int kCommands = 400;
  const auto server = Serve();
  NodeHarness harness(server->url(), With({}));
  harness.AwaitReachable();
  const auto text_of = [](int i) {
    return std::string(static_cast<size_t>(i) * 401 % 100'000, static_cast<char>('a' + i % 26)) +
           std::to_string(i);
  };

  std::vector<std::future<NodeHarness::Answer>> answers(kCommands);
  for (int i = 0; i < kCommands; ++i) {
    answers[static_cast<size_t>(i)] = harness.Start({"ECHO", text_of(i)});
  }

  for (int i = 0; i < kCommands; ++i) {
    const auto answer = Await(std::move(answers[static_cast<size_t>(i)]));
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->text, text_of(i));
  }
}

// Goal: what TLS has read ahead is not forgotten when the turn's share of reads is used up, since
// the socket does not show it. Method: many small replies, which come in few records.
TEST_F(TlsTest, ManySmallRepliesAreAllTaken) {
  constexpr int kCommands = 20'000;
  const auto server = Serve();
  NodeHarness harness(server->url(), With({}));
  harness.AwaitReachable();

  std::promise<void> all;
  int left = kCommands;
  harness.loop().RunAndWait([&] {
    for (int i = 0; i < kCommands; ++i) {
      harness.node().Send({}, CommandOf({"PING"}), [&](const NodeHarness::Answer& answer) {
        EXPECT_TRUE(answer.ok());
        if (--left == 0) all.set_value();
      });
    }
  });
  Await(all.get_future());
}

// Goal: while the socket takes nothing more, the loop sleeps. Method: the processor time of its
// thread until the time for a reply is over; a loop that spins takes all it can get.
TEST_F(TlsTest, BlockedWriteDoesNotSpin) {
  const auto server = Serve();
  NodeHarness harness(server->url(), [&](RedisNodeOptions& options) {
    With({})(options);
    options.request_timeout = std::chrono::seconds(2);
  });
  harness.AwaitReachable();
  const auto thread_time = [&] {
    timespec used{};
    harness.loop().RunAndWait([&] { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); });
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  };

  server->Pause();
  auto answer = harness.Start({"ECHO", std::string(size_t{32} << 20, 'x')});
  const auto before = thread_time();
  EXPECT_NE(ReasonName(Await(std::move(answer))), "");
  EXPECT_LT(thread_time() - before, std::chrono::seconds(1));

  server->Resume();
  harness.AwaitReachable();
}

TEST_F(TlsTest, RestartedServerIsFoundAgain) {
  const auto server = Serve();
  NodeHarness harness(server->url(), With({}));
  harness.AwaitReachable();

  server->Kill();
  EXPECT_FALSE(harness.AwaitAway().refused);
  server->Restart(Data::kLose);

  harness.AwaitReachable();
  EXPECT_EQ(harness.Ask({"PING"})->text, "PONG");
}

TEST_F(TlsTest, StandstillIsNoticedByTheTimeForAReply) {
  const auto server = Serve();
  NodeHarness harness(server->url(), [&](RedisNodeOptions& options) {
    With({})(options);
    options.request_timeout = milliseconds(1500);
  });
  harness.AwaitReachable();

  server->Pause();
  const auto answer = harness.Ask({"PING"});
  EXPECT_EQ(ReasonName(answer), "OUTCOME_UNKNOWN");
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("does not answer within 1.5s"));

  server->Resume();
  harness.AwaitReachable();
}

TEST_F(TlsTest, CertificateOfAnUnknownAuthorityIsRefused) {
  TestAuthority other("other authority");
  const auto server = Serve();

  EXPECT_THAT(Refusal(server->url(), {.ca_file = other.ca_file()}),
              AllOf(StartsWith(" shows a certificate (CN = test authority, valid until "),
                    HasSubstr("that no CA trusted here has signed"),
                    EndsWith("name its CA in store.redis_tls_ca_file")));
}

TEST_F(TlsTest, WithoutACaFileTheSystemsAuthoritiesCount) {
  const auto server = Serve();
  NodeHarness harness(server->url(), [](RedisNodeOptions& options) { options.tls = LoadTls({}); });

  EXPECT_THAT(harness.AwaitHealth([](const NodeHealth& now) { return now.refused; }).problem,
              HasSubstr("that no CA trusted here has signed"));
}

TEST_F(TlsTest, CertificateForAnotherHostIsRefused) {
  const auto by_name = Serve(authority_.Issue({.names = {"redis.example"}}));
  const auto by_address = Serve(authority_.Issue({.addresses = {"10.0.0.1"}}));

  EXPECT_THAT(
      Refusal("rediss://localhost:" + std::to_string(by_name->port())),
      AllOf(HasSubstr("for redis.example, valid"), HasSubstr(") that is not for localhost: ")));
  EXPECT_THAT(Refusal(by_address->url()),
              AllOf(HasSubstr("for 10.0.0.1, valid"), HasSubstr(") that is not for 127.0.0.1: "),
                    EndsWith("store.redis_tls_server_name")));
}

TEST_F(TlsTest, NamedServerMayHaveAnotherAddress) {
  const auto server = Serve(authority_.Issue({.names = {"redis.example"}}));
  NodeHarness harness(server->url(), With({.server_name = "redis.example"}));

  harness.AwaitReachable();
}

TEST_F(TlsTest, CertificateOutsideItsTimeIsRefused) {
  CertificateWish expired{.addresses = {"127.0.0.1"}, .valid_from = hours(-48)};
  expired.valid_until = hours(-1);
  CertificateWish early{.addresses = {"127.0.0.1"}, .valid_from = hours(1)};

  EXPECT_THAT(Refusal(Serve(authority_.Issue(expired))->url()),
              EndsWith(" that has expired: renew it"));
  EXPECT_THAT(Refusal(Serve(authority_.Issue(early))->url()),
              EndsWith(" that is not valid yet: is the clock here right?"));
}

// Under TLS 1.3 the server's refusal comes after our side of the handshake, and after our first
// commands; often, to see that it is read whatever the connection's end looks like.
TEST_F(TlsTest, MissingCertificateOfOursIsNamed) {
  for (const std::string_view version : kVersions) {
    const auto server = Serve(AskClients::kYes, {OnlyVersion(version)});
    for (int i = 0; i < 20; ++i) {
      SCOPED_TRACE(version);
      EXPECT_THAT(Refusal(server->url()),
                  AllOf(StartsWith(" asks for a client certificate, and none is given"),
                        HasSubstr("store.redis_tls_certificate_file")));
    }
  }
}

TEST_F(TlsTest, CertificateOfOursThatTheServerDoesNotTrustIsNamed) {
  TestAuthority other("other authority");
  const TlsFiles own = other.Issue({.common_name = "daemon"});
  for (const std::string_view version : kVersions) {
    SCOPED_TRACE(version);
    const auto server = Serve(AskClients::kYes, {OnlyVersion(version)});
    EXPECT_THAT(
        Refusal(server->url(), {.certificate_file = own.certificate, .key_file = own.key}),
        AllOf(StartsWith(" does not accept our client certificate \"" + own.certificate + "\""),
              HasSubstr("unknown CA")));
  }
}

TEST_F(TlsTest, OldVersionsAreRefused) {
  // What the server's OpenSSL itself allows is not ours to know: SECLEVEL 0 lets it go so far down.
  const auto server =
      Serve(AskClients::kNo, {"tls-protocols \"TLSv1 TLSv1.1\"", "tls-ciphers ALL:@SECLEVEL=0"});

  EXPECT_THAT(Refusal(server->url()), HasSubstr("TLS 1.2 or later is needed"));
}

// A server in the clear takes our hello for the beginning of a line and waits for its end, unless a
// random byte ends it: then it answers.
TEST_F(TlsTest, ServerInTheClearBehindRedissIsNamedAndTriedAgain) {
  RedisServer server({.listening = Listening::kUnixSocketAndTcp});
  NodeHarness harness("rediss://127.0.0.1:" + std::to_string(server.port()),
                      [&](RedisNodeOptions& options) {
                        With({})(options);
                        options.connect_timeout = milliseconds(1000);
                      });

  const NodeHealth away = harness.AwaitHealth(
      [](const NodeHealth& health) { return !health.problem.starts_with("connecting to"); });

  EXPECT_THAT(away.problem,
              AnyOf(EndsWith(" does not finish the TLS handshake within 1s: does it speak TLS "
                             "there (redis:// is without)?"),
                    EndsWith(" answers, but not in TLS: is this its port for redis://?")));
  EXPECT_FALSE(away.refused);
}

TEST_F(TlsTest, TlsServerBehindRedisIsNamedAndTriedAgain) {
  const auto server = Serve();
  NodeHarness harness("redis://127.0.0.1:" + std::to_string(server->port()));

  const NodeHealth away = harness.AwaitHealth(
      [](const NodeHealth& health) { return !health.problem.starts_with("connecting to"); });

  EXPECT_THAT(away.problem, AnyOf(EndsWith(" does it expect TLS (rediss://)?"),
                                  EndsWith(" speaks TLS: use rediss:// in store.redis")));
  EXPECT_FALSE(away.refused);
}

TEST_F(TlsTest, NodeMayBeDestroyedAtAnyMoment) {
  const auto server = Serve();
  const auto tls = LoadTls({.ca_file = authority_.ca_file()});
  loop::EventLoop loop("node");
  CountingObserver observer;
  for (int i = 0; i < 100; ++i) {
    std::unique_ptr<RedisNode> node;
    loop.RunAndWait([&] {
      node = std::make_unique<RedisNode>(
          loop,
          RedisNodeOptions{.url = *ParseRedisUrl(server->url()), .tls = tls, .daemon_id = "test"},
          observer);
    });
    for (int turns = 0; turns < i % 25; ++turns) loop.RunAndWait([] {});
    loop.RunAndWait([&] { node.reset(); });
  }
}

}  // namespace
}  // namespace lockkeeper::redis
