// SPDX-License-Identifier: Apache-2.0
#include "config/lock_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::config {
namespace {

using core::Millis;
using testing::HasSubstr;

TEST(PrefixTtlsTest, EitherTtlMayBeLeftOut) {
  const auto both = ParsePrefixTtls("batch/ default_ttl=5m max_ttl=1h");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->prefix, "batch/");
  EXPECT_EQ(both->default_ttl, std::chrono::minutes(5));
  EXPECT_EQ(both->max_ttl, std::chrono::hours(1));

  const auto one = ParsePrefixTtls("batch/ default_ttl=100ms");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->default_ttl, Millis(100));
  EXPECT_EQ(one->max_ttl, std::nullopt);

  const auto other = ParsePrefixTtls("batch/ max_ttl=1s");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->default_ttl, std::nullopt);
  EXPECT_EQ(other->max_ttl, Millis(1'000));
}

TEST(PrefixTtlsTest, PrefixMayHaveSpaces) {
  const auto ttls = ParsePrefixTtls("my max_ttl=x jobs/ max_ttl=1m");

  ASSERT_TRUE(ttls.ok()) << ttls.status();
  EXPECT_EQ(ttls->prefix, "my max_ttl=x jobs/");
}

TEST(PrefixTtlsTest, RefusalSaysWhatIsWrong) {
  for (const auto& [text, problem] :
       {std::pair("", "must be the beginning of the names"),
        std::pair("batch/", "must be the beginning of the names"),
        std::pair("batch/ 5m", "must be the beginning of the names"),
        std::pair("max_ttl=1m", "must be the beginning of the names"),
        std::pair(" max_ttl=1m", "prefix: has to be 1 to 512 bytes"),
        std::pair("a{b max_ttl=1m", "contains '{' or '}'"),
        std::pair("a max_ttl=1m max_ttl=2m", "max_ttl: given twice"),
        std::pair("a max_ttl=25h", "max_ttl: must be from 1s to 24h, is 25h"),
        std::pair("a max_ttl=999ms", "max_ttl: must be from 1s to 24h, is 999ms"),
        std::pair("a default_ttl=99ms", "default_ttl: must be from 100ms to 24h, is 99ms"),
        std::pair("a default_ttl=30", "default_ttl: "), std::pair("a max_ttl=", "max_ttl: ")}) {
    const auto ttls = ParsePrefixTtls(text);
    ASSERT_FALSE(ttls.ok()) << text;
    EXPECT_THAT(std::string(ttls.status().message()), HasSubstr(problem)) << text;
  }
}

TEST(LockLimitsTest, ComeFromTheSettings) {
  Config config;
  EXPECT_EQ(LimitsOf(config).default_ttl, Millis(30'000));
  EXPECT_EQ(LimitsOf(config).max_ttl, Millis(60'000));
  EXPECT_EQ(LimitsOf(config).max_wait, std::chrono::hours(24));

  config.lease = {.default_ttl = Millis(5'000),
                  .max_ttl = Millis(50'000),
                  .by_prefix = {"a/ max_ttl=2m", "b/ default_ttl=1s"}};
  config.waiters.max_wait = Millis(7'000);
  const core::ConfiguredLimits limits = LimitsOf(config);

  EXPECT_EQ(limits.default_ttl, Millis(5'000));
  EXPECT_EQ(limits.max_ttl, Millis(50'000));
  EXPECT_EQ(limits.max_wait, Millis(7'000));
  EXPECT_EQ(limits.TtlsOf("a/1").max_ttl, std::chrono::minutes(2));
  EXPECT_EQ(limits.TtlsOf("b/1").default_ttl, Millis(1'000));
}

}  // namespace
}  // namespace lockkeeper::config
