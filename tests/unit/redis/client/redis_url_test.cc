// SPDX-License-Identifier: Apache-2.0
#include "redis/client/redis_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"

namespace lockkeeper::redis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RedisUrl Parsed(std::string_view text) {
  absl::StatusOr<RedisUrl> url = ParseRedisUrl(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : RedisUrl();
}

std::string ProblemOf(std::string_view text) {
  const absl::StatusOr<RedisUrl> url = ParseRedisUrl(text);
  if (url.ok()) return "parsed as " + url->Display();
  EXPECT_EQ(core::ReasonOf(url.status()), core::ErrorReason::kInvalidField);
  EXPECT_EQ(core::FieldOf(url.status()), "store.redis");
  return std::string(url.status().message());
}

TEST(RedisUrlTest, HostAndPortAreRead) {
  const RedisUrl url = Parsed("redis://cache.example.org:7001");

  EXPECT_EQ(url.host, "cache.example.org");
  EXPECT_EQ(url.port, 7001);
  EXPECT_EQ(url.database, 0);
  EXPECT_EQ(url.user, "");
  EXPECT_TRUE(url.password.empty());
  EXPECT_EQ(url.Address(), "cache.example.org:7001");
  EXPECT_EQ(url.Display(), "redis://cache.example.org:7001");
}

TEST(RedisUrlTest, PortAndDatabaseHaveDefaults) {
  EXPECT_EQ(Parsed("redis://localhost").port, 6379);
  EXPECT_EQ(Parsed("redis://localhost/").database, 0);
  EXPECT_EQ(Parsed("redis://localhost/3").database, 3);
  EXPECT_EQ(Parsed("redis://localhost:1/3").Display(), "redis://localhost:1/3");
}

TEST(RedisUrlTest, V6AddressStandsInBrackets) {
  const RedisUrl url = Parsed("redis://[2001:db8::1]:6380/2");

  EXPECT_EQ(url.host, "2001:db8::1");
  EXPECT_EQ(url.port, 6380);
  EXPECT_EQ(url.Address(), "[2001:db8::1]:6380");
  EXPECT_EQ(Parsed("redis://[::ffff:10.0.0.1]").port, 6379);
}

TEST(RedisUrlTest, TlsIsTheSameWithAnotherScheme) {
  const RedisUrl url = Parsed("rediss://user:pw@cache.example.org:7001/2");

  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "cache.example.org");
  EXPECT_EQ(url.port, 7001);
  EXPECT_EQ(url.user, "user");
  EXPECT_EQ(url.password.reveal(), "pw");
  EXPECT_EQ(url.Display(), "rediss://cache.example.org:7001/2");
  EXPECT_EQ(Parsed("rediss://host").port, 6379);
  EXPECT_FALSE(Parsed("redis://host").tls);
}

TEST(RedisUrlTest, CredentialsAreDecodedAndNotShown) {
  const RedisUrl url = Parsed("redis://us%65r:p%40ss%3Aw%2Frd%25@host:1");

  EXPECT_EQ(url.user, "user");
  EXPECT_EQ(url.password.reveal(), "p@ss:w/rd%");
  EXPECT_EQ(url.Display(), "redis://host:1");
}

TEST(RedisUrlTest, UserAndPasswordMayStandAlone) {
  EXPECT_EQ(Parsed("redis://:secret@host").user, "");
  EXPECT_EQ(Parsed("redis://:secret@host").password.reveal(), "secret");
  EXPECT_EQ(Parsed("redis://user@host").user, "user");
  EXPECT_EQ(Parsed("redis://a:b@c@host").password.reveal(), "b@c");
}

TEST(RedisUrlTest, UnixSocketHasAPathAndADatabase) {
  const RedisUrl url = Parsed("unix:///run/my%20redis/s%3fck?db=5");

  EXPECT_EQ(url.socket_path, "/run/my redis/s?ck");
  EXPECT_EQ(url.database, 5);
  EXPECT_EQ(url.host, "");
  EXPECT_EQ(url.port, 0);
  EXPECT_EQ(url.Address(), "/run/my redis/s?ck");
  EXPECT_EQ(Parsed("unix:///s").Display(), "unix:///s");
  EXPECT_EQ(Parsed("unix://user:pw@/s").user, "user");
}

TEST(RedisUrlTest, ErrorSaysWhatIsWrongAndWhatIsExpected) {
  struct Case {
    const char* text;
    const char* problem;
  };
  const std::vector<Case> cases = {
      {"",
       "store.redis: must be redis://[user:password@]host[:port][/db], rediss://... (TLS), "
       "unix:///path[?db=N], redis+sentinel://[user:password@]host[:port],.../service[/db] or "
       "redis+cluster://[user:password@]host[:port],..."},
      {"host:6379", "must be redis://"},
      {"http://host", "must be redis://"},
      {"rediss://", "the host must be a name or an address"},
      {"rediss:///run/redis.sock", "the host must be a name or an address"},
      {"redis://", "the host must be a name or an address"},
      {"redis://:6379", "the host must be a name or an address"},
      {"redis://ho st", "the host must be a name or an address"},
      {"redis://host?db=1", "the host must be a name or an address"},
      {"redis://::1:6379", "the host must be a name or an address (IPv6 in brackets)"},
      {"redis://[]:1", "an IPv6 address in brackets is expected, such as [::1]:6379"},
      {"redis://[::1:1", "an IPv6 address in brackets"},
      {"redis://[host]:1", "an IPv6 address in brackets"},
      {"redis://[::1]6379", "the port after the host must be a number from 1 to 65535"},
      {"redis://host:", "the port after the host must be a number from 1 to 65535"},
      {"redis://host:0", "the port after the host"},
      {"redis://host:65536", "the port after the host"},
      {"redis://a:1,b:2", "one host is expected; several are those of Sentinels"},
      {"redis://host:-1", "the port after the host"},
      {"redis://host:99999999999999999999", "the port after the host"},
      {"redis://host:1/x", "the database must be a number from 0 to 2147483647"},
      {"redis://host:1/-1", "the database must be a number"},
      {"redis://host:1/2147483648", "the database must be a number"},
      {"redis://host:1/1/2", "the database must be a number"},
      {"redis://user:p%zz@host", "a % in the password must be followed by two hex digits"},
      {"redis://us%4:p@host", "a % in the user must be followed by two hex digits"},
      {"redis://user:%00@host", "the password must not contain a zero byte"},
      {"unix://", "the path of the unix socket must be absolute: unix:///path"},
      {"unix://run/redis", "the path of the unix socket must be absolute"},
      {"unix:///s?database=1", "after the path only ?db=N may follow"},
      {"unix:///s?db=", "the database must be a number"},
      {"unix:///s%2", "a % in the path of the unix socket must be followed by two hex digits"},
  };
  for (const Case& c : cases) EXPECT_THAT(ProblemOf(c.text), HasSubstr(c.problem)) << c.text;
}

TEST(RedisUrlTest, SocketPathEndsWhereTheKernelsDoes) {
  const std::string longest = "/" + std::string(106, 's');

  EXPECT_EQ(Parsed("unix://" + longest).socket_path, longest);
  EXPECT_THAT(ProblemOf("unix://" + longest + "s"),
              HasSubstr("has 108 bytes, at most 107 are possible"));
}

TEST(RedisUrlTest, ErrorNeverRepeatsWhatMayBeAPassword) {
  for (const char* text :
       {"redis://:s3cr/et@host", "redis://u:s3cr?t@ho st", "redis://u:s3cr%zt@host",
        "redis://s3cr:et", "unix://u:s3cr/x?y=1", "s3cret@host"}) {
    EXPECT_THAT(ProblemOf(text), Not(HasSubstr("s3cr"))) << text;
  }
}

StoreUrl ParsedStore(std::string_view text) {
  absl::StatusOr<StoreUrl> url = ParseStoreUrl(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : StoreUrl();
}

TEST(StoreUrlTest, OneServerIsTheStore) {
  const StoreUrl url = ParsedStore("redis://user:pw@host:1/2");

  EXPECT_FALSE(url.has_sentinels());
  EXPECT_EQ(url.server.user, "user");
  EXPECT_EQ(url.Address(), "host:1");
  EXPECT_EQ(url.Display(), "redis://host:1/2");
  EXPECT_EQ(ParsedStore("unix:///s").Address(), "/s");
}

TEST(StoreUrlTest, SentinelsStandForTheirPrimary) {
  const StoreUrl url =
      ParsedStore("redis+sentinel://user:p%40s,s@a.example,10.0.0.2:7,[::1]:8/my%2Fmaster/3");

  ASSERT_EQ(url.sentinels.size(), 3u);
  EXPECT_EQ(url.sentinels[0].Address(), "a.example:26379");
  EXPECT_EQ(url.sentinels[1].Address(), "10.0.0.2:7");
  EXPECT_EQ(url.sentinels[2].Address(), "[::1]:8");
  EXPECT_TRUE(url.sentinels[0].password.empty()) << "they have a password of their own";
  EXPECT_EQ(url.service, "my/master");
  EXPECT_EQ(url.server.user, "user");
  EXPECT_EQ(url.server.password.reveal(), "p@s,s");
  EXPECT_EQ(url.server.database, 3);
  EXPECT_FALSE(url.server.has_address());
  EXPECT_FALSE(url.server.tls);
  EXPECT_EQ(url.Address(), "my/master of a.example:26379,10.0.0.2:7,[::1]:8");
  EXPECT_EQ(url.Display(), "redis+sentinel://a.example:26379,10.0.0.2:7,[::1]:8/my/master/3");
}

TEST(StoreUrlTest, SentinelsSpeakTlsIfRedisDoes) {
  const StoreUrl url = ParsedStore("rediss+sentinel://a/m/");

  EXPECT_TRUE(url.server.tls);
  EXPECT_TRUE(url.sentinels[0].tls);
  EXPECT_EQ(url.server.database, 0);
  EXPECT_EQ(url.Display(), "rediss+sentinel://a:26379/m");
}

TEST(StoreUrlTest, ServersOfAClusterShareTheCredentials) {
  const StoreUrl url = ParsedStore("rediss+cluster://user:pw@a.example,10.0.0.2:7,[::1]:8");

  EXPECT_TRUE(url.is_cluster());
  EXPECT_FALSE(url.has_sentinels());
  ASSERT_EQ(url.cluster.size(), 3u);
  EXPECT_EQ(url.cluster[0].Address(), "a.example:6379");
  for (const RedisUrl& server : url.cluster) {
    EXPECT_EQ(server.user, "user");
    EXPECT_EQ(server.password.reveal(), "pw");
    EXPECT_TRUE(server.tls);
  }
  EXPECT_EQ(url.server.Address(), "a.example:6379");
  EXPECT_EQ(url.Address(), "the Cluster of a.example:6379,10.0.0.2:7,[::1]:8");
  EXPECT_EQ(url.Display(), "rediss+cluster://a.example:6379,10.0.0.2:7,[::1]:8");
  EXPECT_FALSE(ParsedStore("redis+cluster://a/").server.tls);
}

TEST(StoreUrlTest, ClusterHasNoDatabaseAndAtMost32Servers) {
  EXPECT_THAT(ParseStoreUrl("redis+cluster://a/1").status().message(),
              HasSubstr("a Cluster has no databases, nor a name"));
  EXPECT_THAT(ParseStoreUrl("redis+cluster://a,,b").status().message(),
              HasSubstr("the host must be a name or an address"));
  std::string many = "redis+cluster://a";
  for (int i = 1; i < 32; ++i) many += ",a";
  EXPECT_TRUE(ParseStoreUrl(many).ok());
  EXPECT_THAT(ParseStoreUrl(many + ",a").status().message(),
              HasSubstr("at most 32 servers of a Cluster can be named"));
}

TEST(StoreUrlTest, ErrorSaysWhatIsWrong) {
  std::string many = "redis+sentinel://a";
  for (int i = 0; i < 31; ++i) many += ",a";
  EXPECT_EQ(ParsedStore(many + "/m").sentinels.size(), 32u);
  const std::pair<std::string, const char*> cases[] = {
      {"redis+sentinel://a,b", "the name is expected by which they know the store"},
      {"redis+sentinel://a,b/", "the name is expected by which they know the store"},
      {"redis+sentinel:///m", "the host must be a name or an address"},
      {"redis+sentinel://a,/m", "the host must be a name or an address"},
      {"redis+sentinel://a:x,b/m", "the port after the host must be a number"},
      {"redis+sentinel://a/m/x", "the database must be a number"},
      {"redis+sentinel://a/m%", "a % in the service must be followed by two hex digits"},
      {many + ",a/m", "at most 32 Sentinels can be named"},
      {"redis+ring://a", "must be redis://"}};
  for (const auto& [text, problem] : cases) {
    const absl::StatusOr<StoreUrl> url = ParseStoreUrl(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_THAT(std::string(url.status().message()), HasSubstr(problem)) << text;
  }
}

}  // namespace
}  // namespace lockkeeper::redis
