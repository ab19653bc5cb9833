// SPDX-License-Identifier: Apache-2.0
#include "core/configured_limits.h"

#include <gtest/gtest.h>

namespace lockkeeper::core {
namespace {

constexpr Millis kDefault{10'000};
constexpr Millis kMax{60'000};

ConfiguredLimits With(std::vector<PrefixTtls> by_prefix) {
  return {.max_ttl = kMax, .default_ttl = kDefault, .ttls_by_prefix = std::move(by_prefix)};
}

struct Choice {
  const char* name;
  Millis default_ttl;
  Millis max_ttl;
  const char* prefix;  // Of the largest ttl.
};

TEST(ConfiguredLimitsTest, LongestPrefixWins) {
  // In no order.
  const ConfiguredLimits limits =
      With({{.prefix = "batch/", .default_ttl = Millis(300'000), .max_ttl = Millis(3'600'000)},
            {.prefix = "batch/small/x", .default_ttl = Millis(7'000), .max_ttl = Millis(8'000)},
            {.prefix = "batch/small/", .default_ttl = Millis(5'000), .max_ttl = Millis(20'000)},
            {.prefix = "b", .default_ttl = Millis(1'000), .max_ttl = Millis(2'000)}});

  for (const Choice& choice :
       {Choice{"other", kDefault, kMax, ""}, Choice{"", kDefault, kMax, ""},
        Choice{"b", Millis(1'000), Millis(2'000), "b"},
        Choice{"batch", Millis(1'000), Millis(2'000), "b"},
        Choice{"batch/", Millis(300'000), Millis(3'600'000), "batch/"},
        Choice{"batch/1", Millis(300'000), Millis(3'600'000), "batch/"},
        Choice{"batch/small/1", Millis(5'000), Millis(20'000), "batch/small/"},
        Choice{"batch/small/x1", Millis(7'000), Millis(8'000), "batch/small/x"},
        Choice{"Batch/1", kDefault, kMax, ""}}) {
    const Ttls ttls = limits.TtlsOf(choice.name);
    EXPECT_EQ(ttls.default_ttl, choice.default_ttl) << choice.name;
    EXPECT_EQ(ttls.max_ttl, choice.max_ttl) << choice.name;
    EXPECT_EQ(ttls.prefix, choice.prefix) << choice.name;
  }
}

// Not that of a shorter prefix: an entry says all that differs for its locks.
TEST(ConfiguredLimitsTest, WhatAPrefixLeavesOutIsThatOfAllLocks) {
  const ConfiguredLimits limits =
      With({{.prefix = "a/", .default_ttl = Millis(20'000), .max_ttl = Millis(120'000)},
            {.prefix = "a/b/", .default_ttl = {}, .max_ttl = Millis(90'000)},
            {.prefix = "a/c/", .default_ttl = Millis(30'000), .max_ttl = {}}});

  EXPECT_EQ(limits.TtlsOf("a/b/1").default_ttl, kDefault);
  EXPECT_EQ(limits.TtlsOf("a/b/1").max_ttl, Millis(90'000));
  EXPECT_EQ(limits.TtlsOf("a/c/1").default_ttl, Millis(30'000));
  EXPECT_EQ(limits.TtlsOf("a/c/1").max_ttl, kMax);
  EXPECT_EQ(limits.TtlsOf("a/c/1").prefix, "") << "its largest ttl is that of all locks";
}

TEST(ConfiguredLimitsTest, DefaultTtlIsNeverLongerThanTheLargest) {
  const ConfiguredLimits limits =
      With({{.prefix = "short/", .default_ttl = {}, .max_ttl = Millis(2'000)}});

  EXPECT_EQ(limits.TtlsOf("short/1").default_ttl, Millis(2'000));
}

TEST(ConfiguredLimitsTest, LongestTtlIsThatOfAnyLock) {
  EXPECT_EQ(With({}).LongestTtl(), kMax);
  EXPECT_EQ(With({{.prefix = "a", .default_ttl = {}, .max_ttl = Millis(2'000)},
                  {.prefix = "b", .default_ttl = Millis(9'000), .max_ttl = {}}})
                .LongestTtl(),
            kMax);
  EXPECT_EQ(With({{.prefix = "a", .default_ttl = {}, .max_ttl = Millis(90'000)},
                  {.prefix = "b", .default_ttl = {}, .max_ttl = Millis(70'000)}})
                .LongestTtl(),
            Millis(90'000));
}

}  // namespace
}  // namespace lockkeeper::core
