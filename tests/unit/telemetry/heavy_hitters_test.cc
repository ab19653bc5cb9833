// SPDX-License-Identifier: Apache-2.0
#include "telemetry/heavy_hitters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace lockkeeper::telemetry {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(HeavyHittersTest, IsExactWhileThereAreCountersForAllNames) {
  HeavyHitters names(3);
  names.Add("a", 1);
  names.Add("b", 5);
  names.Add("c", 0);
  names.Add("a", 2);

  EXPECT_THAT(names.counters(), ElementsAre(Pair(0, "c"), Pair(3, "a"), Pair(5, "b")));
  EXPECT_TRUE(names.is_exact());
}

TEST(HeavyHittersTest, NewNameTakesTheSmallestCounterOver) {
  HeavyHitters names(2);
  names.Add("a", 3);
  names.Add("b", 5);
  names.Add("c", 1);
  EXPECT_THAT(names.counters(), ElementsAre(Pair(4, "c"), Pair(5, "b")));
  EXPECT_FALSE(names.is_exact());

  names.Add("c", 2);
  EXPECT_THAT(names.counters(), ElementsAre(Pair(5, "b"), Pair(6, "c")));

  names.Clear();
  names.Add("d", 1);
  EXPECT_THAT(names.counters(), ElementsAre(Pair(1, "d")));
  EXPECT_TRUE(names.is_exact());
}

// The two promises of the algorithm, on streams of which few names make up the most.
TEST(HeavyHittersTest, MissesNoHeavyNameAndCountsNoneFarTooHigh) {
  constexpr size_t kCapacity = 32;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<> drawn(0.02);
    HeavyHitters names(kCapacity);
    std::map<std::string, int64_t> truth;
    int64_t total = 0;
    for (int i = 0; i < 5'000; ++i) {
      const std::string name = std::to_string(static_cast<int>(drawn(random)));
      const auto weight = static_cast<int64_t>(random() % 10);
      names.Add(name, weight);
      truth[name] += weight;
      total += weight;
    }
    const int64_t error_max = total / static_cast<int64_t>(kCapacity);
    std::map<std::string, int64_t> counted;
    for (const auto& [weight, name] : names.counters()) counted[name] = weight;
    ASSERT_GT(truth.size(), kCapacity);
    ASSERT_EQ(counted.size(), kCapacity);
    for (const auto& [name, weight] : truth) {
      if (weight > error_max) {
        EXPECT_TRUE(counted.contains(name)) << seed;
      }
      if (!counted.contains(name)) continue;
      EXPECT_GE(counted[name], weight) << seed;
      EXPECT_LE(counted[name], weight + error_max) << seed;
    }
  }
}

}  // namespace
}  // namespace lockkeeper::telemetry
