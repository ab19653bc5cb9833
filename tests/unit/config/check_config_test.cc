// SPDX-License-Identifier: Apache-2.0
// What values may not mean together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_loader.h"
#include "core/limits.h"

namespace lockkeeper::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A configuration from variables alone; with a store, unless they name one.
LoadedConfig From(Environment environment) {
  auto loaded = ReadConfig({.environment = std::move(environment), .user = User::kRoot});
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : LoadedConfig();
}

std::string ProblemsOf(const LoadedConfig& loaded) {
  const absl::Status status = CheckConfig(loaded);
  return status.ok() ? "none" : std::string(status.message());
}

const std::pair<std::string, std::string> kRedis = {"LOCKKEEPERD_STORE_REDIS", "redis://h:1"};
const std::pair<std::string, std::string> kEmbedded = {"LOCKKEEPERD_STORE_EMBEDDED", "true"};

TEST(CheckConfigTest, OneStoreIsRight) {
  EXPECT_EQ(ProblemsOf(From({kRedis})), "none");
  EXPECT_EQ(ProblemsOf(From({kEmbedded})), "none");
}

TEST(CheckConfigTest, CasOfACollectorNeedAnEndpointWithTls) {
  const std::pair<std::string, std::string> ca = {"LOCKKEEPERD_TRACES_CA_FILE", "/ca.pem"};
  const std::string problem =
      "traces.ca_file (environment LOCKKEEPERD_TRACES_CA_FILE): is for a traces.endpoint that "
      "begins with https:// (TLS)";
  EXPECT_EQ(ProblemsOf(From({kRedis, ca})), problem);
  EXPECT_EQ(ProblemsOf(From({kRedis, ca, {"LOCKKEEPERD_TRACES_ENDPOINT", "http://h"}})), problem);
  EXPECT_EQ(ProblemsOf(From({kRedis, ca, {"LOCKKEEPERD_TRACES_ENDPOINT", "https://h"}})), "none");
}

TEST(CheckConfigTest, NoStoreIsRefusedNamingBoth) {
  EXPECT_EQ(ProblemsOf(From({})),
            "no store is given: use --redis URL (store.redis) for a Redis that all daemons share, "
            "or --embedded (store.embedded) for a private one that only this daemon uses");
}

TEST(CheckConfigTest, TwoStoresAreRefusedWithTheirOrigins) {
  EXPECT_EQ(ProblemsOf(From({kRedis, kEmbedded})),
            "two stores are given: store.redis (environment LOCKKEEPERD_STORE_REDIS) and "
            "store.embedded (environment LOCKKEEPERD_STORE_EMBEDDED); remove one of them");
}

TEST(CheckConfigTest, EmbeddedWithoutAnyDataDirIsRefused) {
  const auto loaded = ReadConfig({.environment = {kEmbedded}, .user = User::kOther});
  ASSERT_TRUE(loaded.ok());

  EXPECT_THAT(ProblemsOf(*loaded), HasSubstr("store.data_dir: must be given"));
}

TEST(CheckConfigTest, ListeningBeyondLoopbackNeedsConsent) {
  for (const std::string address :
       {"0.0.0.0:7600", "[::]:7600", "10.0.0.1:0", "example.com:7600"}) {
    for (const std::string variable :
         {"LOCKKEEPERD_SERVER_LISTEN", "LOCKKEEPERD_SERVER_HTTP_LISTEN"}) {
      Environment environment = {kRedis, {variable, address}};
      EXPECT_THAT(ProblemsOf(From(environment)),
                  AllOf(HasSubstr("(environment " + variable + "): " + address + " can be reached"),
                        HasSubstr("listen on tls://" + address + " or mtls://" + address +
                                  ", on 127.0.0.1"),
                        HasSubstr("--allow-insecure (server.allow_insecure: true, "
                                  "LOCKKEEPERD_SERVER_ALLOW_INSECURE=true)")));

      environment.emplace_back("LOCKKEEPERD_SERVER_ALLOW_INSECURE", "true");
      EXPECT_EQ(ProblemsOf(From(environment)), "none");
    }
  }
}

// The settings of TLS besides those of the listeners.
Environment WithTls(Environment environment, const std::string& listen) {
  environment.insert(environment.end(), {kRedis,
                                         {"LOCKKEEPERD_SERVER_LISTEN", listen},
                                         {"LOCKKEEPERD_SERVER_TLS_CERTIFICATE_FILE", "c"},
                                         {"LOCKKEEPERD_SERVER_TLS_KEY_FILE", "k"}});
  return environment;
}
const std::pair<std::string, std::string> kClientCa = {"LOCKKEEPERD_SERVER_TLS_CLIENT_CA_FILE",
                                                       "ca"};

TEST(CheckConfigTest, ListeningBeyondLoopbackWithTlsNeedsNoConsent) {
  EXPECT_EQ(ProblemsOf(From(WithTls({}, "tls://0.0.0.0:7600"))), "none");
  EXPECT_EQ(ProblemsOf(From(WithTls({kClientCa}, "mtls://[::]:7600,127.0.0.1:7600"))), "none");
  EXPECT_EQ(ProblemsOf(From(
                WithTls({{"LOCKKEEPERD_SERVER_HTTP_LISTEN", "tls://0.0.0.0:7601"}}, "unix:/x"))),
            "none");
}

TEST(CheckConfigTest, ListenerWithTlsNeedsItsFiles) {
  const auto problems = [](const std::string& listen) {
    return ProblemsOf(From({kRedis, {"LOCKKEEPERD_SERVER_LISTEN", listen}}));
  };
  EXPECT_THAT(problems("tls://localhost:1"),
              AllOf(HasSubstr("server.listen (environment LOCKKEEPERD_SERVER_LISTEN): "
                              "tls://localhost:1 needs a certificate: give --tls-cert "
                              "(server.tls_certificate_file) and --tls-key (server.tls_key_file)"),
                    Not(HasSubstr("--tls-client-ca"))));
  EXPECT_THAT(ProblemsOf(From(WithTls({}, "mtls://localhost:1"))),
              HasSubstr("mtls://localhost:1 needs the CAs of its clients: give --tls-client-ca"));
}

TEST(CheckConfigTest, CertificateAndKeyComeTogether) {
  for (const auto& [given, missing] :
       {std::pair("CERTIFICATE", "--tls-key"), std::pair("KEY", "--tls-cert")}) {
    const std::string variable = "LOCKKEEPERD_SERVER_TLS_" + std::string(given) + "_FILE";
    const LoadedConfig loaded =
        From({kRedis, {"LOCKKEEPERD_SERVER_LISTEN", "tls://localhost:1"}, {variable, "f"}});
    EXPECT_THAT(ProblemsOf(loaded),
                AllOf(HasSubstr("(environment " + variable + "): needs " + std::string(missing)),
                      Not(HasSubstr("needs a certificate"))));
  }
}

// Somebody who names the CAs of clients wants them checked.
TEST(CheckConfigTest, FilesThatNoListenerUsesAreRefused) {
  EXPECT_THAT(ProblemsOf(From(WithTls({}, "127.0.0.1:7600"))),
              HasSubstr("server.tls_certificate_file (environment "
                        "LOCKKEEPERD_SERVER_TLS_CERTIFICATE_FILE): no listener uses it"));
  EXPECT_THAT(
      ProblemsOf(From(WithTls({kClientCa}, "tls://0.0.0.0:7600"))),
      HasSubstr("server.tls_client_ca_file (environment "
                "LOCKKEEPERD_SERVER_TLS_CLIENT_CA_FILE): no listener asks for client "
                "certificates; begin an address of server.listen or server.http_listen with "
                "mtls://"));
}

TEST(CheckConfigTest, HttpMayAskForClientCertificatesToo) {
  EXPECT_EQ(
      ProblemsOf(From(WithTls({kClientCa, {"LOCKKEEPERD_SERVER_HTTP_LISTEN", "mtls://[::]:1"}},
                              "localhost:7600"))),
      "none");
}

TEST(CheckConfigTest, OneOutsideListenerAmongLocalOnesIsFound) {
  EXPECT_THAT(
      ProblemsOf(From({kRedis, {"LOCKKEEPERD_SERVER_LISTEN", "localhost:1,unix:/x,0.0.0.0:2"}})),
      AllOf(HasSubstr("0.0.0.0:2 can be reached"), Not(HasSubstr("localhost:1 can")),
            Not(HasSubstr("unix:/x can"))));
}

TEST(CheckConfigTest, SameAddressTwiceIsRefused) {
  EXPECT_THAT(ProblemsOf(From({kRedis, {"LOCKKEEPERD_SERVER_LISTEN", "localhost:1,localhost:1"}})),
              HasSubstr("localhost:1 is given twice"));
  EXPECT_THAT(
      ProblemsOf(From({kRedis, {"LOCKKEEPERD_SERVER_LISTEN", "localhost:1,tls://localhost:1"}})),
      HasSubstr("localhost:1 is given twice"));
  EXPECT_THAT(ProblemsOf(From({kRedis, {"LOCKKEEPERD_SERVER_HTTP_LISTEN", "127.0.0.1:7600"}})),
              HasSubstr("server.http_listen (environment LOCKKEEPERD_SERVER_HTTP_LISTEN): "
                        "127.0.0.1:7600 is given twice"));
}

TEST(CheckConfigTest, PortZeroMayBeGivenOften) {
  EXPECT_EQ(ProblemsOf(From({kRedis,
                             {"LOCKKEEPERD_SERVER_LISTEN", "localhost:0,localhost:0"},
                             {"LOCKKEEPERD_SERVER_HTTP_LISTEN", "localhost:0"}})),
            "none");
}

TEST(CheckConfigTest, HttpMayListenNowhere) {
  EXPECT_EQ(ProblemsOf(From({kRedis, {"LOCKKEEPERD_SERVER_HTTP_LISTEN", ""}})), "none");
}

TEST(CheckConfigTest, PasswordBelongsToRedis) {
  LoadedConfig loaded = From({kEmbedded});
  loaded.config.store.redis_password_file = "/run/password";

  EXPECT_THAT(ProblemsOf(loaded), HasSubstr("is for store.redis, which is not given"));
}

TEST(CheckConfigTest, UnusablePasswordFileHidesNoOtherProblem) {
  LoadedConfig loaded = From({kRedis, {"LOCKKEEPERD_SERVER_LISTEN", "0.0.0.0:7600"}});
  loaded.config.store.redis_password_file = "/run/password";
  loaded.password_problems["store.redis_password_file"] = "\"/run/password\" is empty";

  EXPECT_THAT(ProblemsOf(loaded),
              AllOf(HasSubstr("store.redis_password_file (default): \"/run/password\" is empty"),
                    HasSubstr("--allow-insecure")));
}

TEST(CheckConfigTest, TwoPasswordsAreRefusedWithoutShowingThem) {
  LoadedConfig loaded = From({{"LOCKKEEPERD_STORE_REDIS", "redis://u:sesame@h:1"}});
  loaded.config.store.redis_password_file = "/run/password";

  EXPECT_THAT(ProblemsOf(loaded),
              AllOf(HasSubstr("two passwords are given"), Not(HasSubstr("sesame"))));
}

TEST(CheckConfigTest, PasswordFileForAUserIsRight) {
  LoadedConfig loaded = From({{"LOCKKEEPERD_STORE_REDIS", "redis://u@h:1"}});
  loaded.config.store.redis_password_file = "/run/password";

  EXPECT_EQ(ProblemsOf(loaded), "none");
}

TEST(CheckConfigTest, SettingsOfSentinelsBelongToThem) {
  for (const std::string setting : {"USER", "PASSWORD_FILE", "TLS_CA_FILE"}) {
    const std::string variable = "LOCKKEEPERD_STORE_SENTINEL_" + setting;
    for (const auto& store : {kRedis, kEmbedded}) {
      EXPECT_THAT(ProblemsOf(From({store, {variable, "x"}})),
                  HasSubstr(" (environment " + variable +
                            "): is for a store.redis that begins with redis+sentinel://"));
    }
  }
  const std::pair<std::string, std::string> sentinels = {"LOCKKEEPERD_STORE_REDIS",
                                                         "redis+sentinel://a,b/mymaster"};
  EXPECT_EQ(ProblemsOf(From({sentinels})), "none");
  EXPECT_THAT(ProblemsOf(From({sentinels, {"LOCKKEEPERD_STORE_SENTINEL_USER", "x"}})),
              HasSubstr("needs store.sentinel_password_file too"));
  EXPECT_THAT(ProblemsOf(From({sentinels, {"LOCKKEEPERD_STORE_SENTINEL_TLS_CA_FILE", "x"}})),
              HasSubstr("is for a store.redis that begins with rediss+sentinel:// (TLS)"));
}

// Somebody would count on short outages and not get them.
TEST(CheckConfigTest, QuarantineUntilRestoredIsForSentinels) {
  const std::pair<std::string, std::string> restored = {"LOCKKEEPERD_STORE_QUARANTINE",
                                                        "until_restored"};
  for (const auto& store : {kRedis, kEmbedded}) {
    EXPECT_EQ(ProblemsOf(From({store, restored})),
              "store.quarantine (environment LOCKKEEPERD_STORE_QUARANTINE): until_restored is for "
              "a Redis behind Sentinels, a store.redis that begins with redis+sentinel:// or "
              "rediss+sentinel://");
  }
  for (const std::string url : {"redis+sentinel://a,b/m", "rediss+sentinel://a,b/m"}) {
    EXPECT_EQ(ProblemsOf(From({{"LOCKKEEPERD_STORE_REDIS", url}, restored})), "none");
  }
  EXPECT_EQ(ProblemsOf(From({kRedis, {"LOCKKEEPERD_STORE_QUARANTINE", "off"}})), "none");
}

TEST(CheckConfigTest, TlsSettingsBelongToRediss) {
  for (const std::string setting : {"CA_FILE", "CERTIFICATE_FILE", "KEY_FILE", "SERVER_NAME"}) {
    const std::string variable = "LOCKKEEPERD_STORE_REDIS_TLS_" + setting;
    for (const auto& store : {kRedis, kEmbedded}) {
      EXPECT_THAT(ProblemsOf(From({store, {variable, "x"}})),
                  HasSubstr(" (environment " + variable +
                            "): is for a store.redis that begins with rediss:// (TLS)"));
    }
  }
}

TEST(CheckConfigTest, CertificateAndKeyNeedEachOther) {
  const std::pair<std::string, std::string> tls{"LOCKKEEPERD_STORE_REDIS", "rediss://h:1"};
  const std::pair<std::string, std::string> certificate{
      "LOCKKEEPERD_STORE_REDIS_TLS_CERTIFICATE_FILE", "/c"};
  const std::pair<std::string, std::string> key{"LOCKKEEPERD_STORE_REDIS_TLS_KEY_FILE", "/k"};

  EXPECT_EQ(ProblemsOf(From({tls})), "none");
  EXPECT_EQ(ProblemsOf(From({tls, certificate, key})), "none");
  EXPECT_EQ(ProblemsOf(From({tls, certificate})), "store.redis_tls_certificate_file (environment " +
                                                      certificate.first +
                                                      "): needs store.redis_tls_key_file too");
  EXPECT_EQ(ProblemsOf(From({tls, key})), "store.redis_tls_key_file (environment " + key.first +
                                              "): needs store.redis_tls_certificate_file too");
}

TEST(CheckConfigTest, DefaultTtlThatIsGivenFitsTheLargest) {
  const std::pair<std::string, std::string> max = {"LOCKKEEPERD_LEASE_MAX_TTL", "10s"};
  EXPECT_EQ(ProblemsOf(From({kRedis, max})), "none") << "the default of the default is shortened";
  EXPECT_EQ(ProblemsOf(From({kRedis, max, {"LOCKKEEPERD_LEASE_DEFAULT_TTL", "10s"}})), "none");
  EXPECT_EQ(ProblemsOf(From({kRedis, max, {"LOCKKEEPERD_LEASE_DEFAULT_TTL", "11s"}})),
            "lease.default_ttl (environment LOCKKEEPERD_LEASE_DEFAULT_TTL): 11s is longer than "
            "lease.max_ttl (environment LOCKKEEPERD_LEASE_MAX_TTL), 10s");
}

TEST(CheckConfigTest, TtlsOfPrefixesFitEachOther) {
  const auto problems_of = [](const std::string& by_prefix) {
    return ProblemsOf(From({kRedis, {"LOCKKEEPERD_LEASE_BY_PREFIX", by_prefix}}));
  };
  const std::string setting = "lease.by_prefix (environment LOCKKEEPERD_LEASE_BY_PREFIX): ";
  EXPECT_EQ(problems_of("a default_ttl=1m,b default_ttl=2m max_ttl=2m,a/ max_ttl=1s"), "none");
  EXPECT_EQ(problems_of("a default_ttl=61s"), setting +
                                                  "default_ttl of \"a\": 1m1s is longer than "
                                                  "lease.max_ttl (default), 1m");
  EXPECT_EQ(problems_of("a max_ttl=9s default_ttl=10s"),
            setting + "default_ttl of \"a\": 10s is longer than its max_ttl, 9s");
  EXPECT_EQ(problems_of("a max_ttl=9s,b max_ttl=1s,a max_ttl=8s"),
            setting + "the prefix \"a\" is given twice");
}

TEST(CheckConfigTest, PrefixesAreBounded) {
  std::string entries;
  for (size_t i = 0; i < core::limits::kTtlPrefixesMax; ++i) {
    entries += (i > 0 ? ",p" : "p") + std::to_string(i) + " max_ttl=1m";
  }
  EXPECT_EQ(ProblemsOf(From({kRedis, {"LOCKKEEPERD_LEASE_BY_PREFIX", entries}})), "none");
  EXPECT_THAT(
      ProblemsOf(From({kRedis, {"LOCKKEEPERD_LEASE_BY_PREFIX", entries + ",one more max_ttl=1m"}})),
      HasSubstr("has 257 entries, and may have 256"));
}

TEST(CheckConfigTest, AllProblemsAreToldAtOnce) {
  EXPECT_THAT(ProblemsOf(From({{"LOCKKEEPERD_SERVER_LISTEN", "0.0.0.0:1"}})),
              AllOf(HasSubstr("no store is given"), HasSubstr("\nserver.listen ")));
}

}  // namespace
}  // namespace lockkeeper::config
