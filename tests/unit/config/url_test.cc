// SPDX-License-Identifier: Apache-2.0
#include "config/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace lockkeeper::config {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Masking {
  std::string url;
  std::string masked;
};

void ExpectMasked(const Masking& expected) {
  SCOPED_TRACE(expected.url);
  EXPECT_EQ(MaskUrl(text::Secret(expected.url)), expected.masked);
}

TEST(MaskUrlTest, ShowsAllButThePassword) {
  const Masking cases[] = {
      {"", ""},
      {"redis://host:6379/2", "redis://host:6379/2"},
      {"redis://user@host:6379", "redis://user@host:6379"},
      {"redis://user:pw@host:6379/2", "redis://user:***@host:6379/2"},
      {"redis://:pw@host", "redis://:***@host"},
      {"redis://user:@host", "redis://user:@host"},
      // Passwords that were not percent-encoded.
      {"redis://user:p@w@host", "redis://user:***@host"},
      {"redis://user:p/w@host", "redis://user:***@host"},
      {"redis://user:p:w@host", "redis://user:***@host"},
      {"redis://user:p?w#@host", "redis://user:***@host"},
      {"redis+sentinel://user:pw@a:1,b:2/m", "redis+sentinel://user:***@a:1,b:2/m"},
      {"unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"},
      {"unix:///run/a@b.sock", "unix:///run/a@b.sock"},
      {"unix://user:pw@/run/redis.sock", "unix://user:***@/run/redis.sock"},
      {"unix:///run/redis.sock?password=pw&db=1", "unix:///run/redis.sock?password=***"},
      // No URL at all, but with a password.
      {"user:pw@host", "user:***@host"}};
  for (const Masking& expected : cases) ExpectMasked(expected);
}

TEST(HasPasswordTest, TellsWhetherOneStandsInTheUrl) {
  EXPECT_TRUE(HasPassword(text::Secret("redis://user:pw@host")));
  EXPECT_TRUE(HasPassword(text::Secret("redis://:pw@host")));
  EXPECT_FALSE(HasPassword(text::Secret("redis://user:@host")));
  EXPECT_FALSE(HasPassword(text::Secret("redis://user@host:6379")));
  EXPECT_FALSE(HasPassword(text::Secret("unix:///run/redis.sock")));
}

TEST(CheckStoreUrlTest, KnownSchemesPass) {
  EXPECT_EQ(CheckStoreUrl(""), std::nullopt);
  EXPECT_EQ(CheckStoreUrl("redis://host:6379"), std::nullopt);
  EXPECT_EQ(CheckStoreUrl("rediss://host:6379"), std::nullopt);
  EXPECT_EQ(CheckStoreUrl("unix:///run/redis.sock"), std::nullopt);
  EXPECT_EQ(CheckStoreUrl("redis+sentinel://a,b:1/mymaster"), std::nullopt);
  EXPECT_EQ(CheckStoreUrl("rediss+sentinel://a,b:1/mymaster"), std::nullopt);
  EXPECT_EQ(CheckStoreUrl("redis+cluster://a,b:1"), std::nullopt);
  EXPECT_EQ(CheckStoreUrl("rediss+cluster://a,b:1"), std::nullopt);
  EXPECT_EQ(CheckStoreUrl("unix://user:pw@/run/redis.sock"), std::nullopt);
}

TEST(CheckStoreUrlTest, OthersAreRefusedWithoutShowingThem) {
  for (const std::string url :
       {"host:6379", "http://u:sesame@h", "unix:/sesame", "REDIS://sesame"}) {
    const text::Problem problem = CheckStoreUrl(url);

    ASSERT_TRUE(problem.has_value()) << url;
    EXPECT_THAT(*problem, HasSubstr("redis://[user:password@]host:port[/db]"));
    EXPECT_THAT(*problem, Not(HasSubstr("sesame")));
  }
}

TEST(NamesSentinelsTest, TheSchemeSaysIt) {
  EXPECT_TRUE(NamesSentinels(text::Secret("redis+sentinel://a/m")));
  EXPECT_TRUE(NamesSentinels(text::Secret("rediss+sentinel://u:p@a,b/m")));
  EXPECT_FALSE(NamesSentinels(text::Secret("redis://u:+sentinel://@a")));
  EXPECT_FALSE(NamesSentinels(text::Secret("")));
}

TEST(AsksForTlsTest, OnlyRedissDoes) {
  EXPECT_TRUE(AsksForTls(text::Secret("rediss+sentinel://a/m")));
  EXPECT_FALSE(AsksForTls(text::Secret("redis+sentinel://a/m")));
  EXPECT_TRUE(AsksForTls(text::Secret("rediss://user:pw@host")));
  EXPECT_FALSE(AsksForTls(text::Secret("redis://rediss://host")));
  EXPECT_FALSE(AsksForTls(text::Secret("unix:///run/redis.sock")));
  EXPECT_FALSE(AsksForTls(text::Secret()));
}

TEST(SecretTest, PrintingShowsNothing) {
  std::ostringstream out;

  out << text::Secret("sesame") << "|" << text::Secret();

  EXPECT_EQ(out.str(), "***|");
}

}  // namespace
}  // namespace lockkeeper::config
