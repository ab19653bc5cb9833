// SPDX-License-Identifier: Apache-2.0
#include "loop/backoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::loop {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

std::vector<int64_t> Delays(Backoff& backoff, size_t count) {
  std::vector<int64_t> delays(count);
  for (int64_t& delay : delays) delay = backoff.Next().count();
  return delays;
}

TEST(BackoffTest, StepsDoubleUpToTheLongest) {
  Backoff backoff({milliseconds(50), milliseconds(300)}, [] { return 1.0; });

  EXPECT_THAT(Delays(backoff, 5), ElementsAre(50'000, 100'000, 200'000, 300'000, 300'000));
}

TEST(BackoffTest, RandomTakesUpToHalfOfTheStepAway) {
  Backoff shortest({milliseconds(50), milliseconds(100)}, [] { return 0.0; });
  Backoff middle({milliseconds(50), milliseconds(100)}, [] { return 0.5; });

  EXPECT_THAT(Delays(shortest, 3), ElementsAre(25'000, 50'000, 50'000));
  EXPECT_THAT(Delays(middle, 3), ElementsAre(37'500, 75'000, 75'000));
}

TEST(BackoffTest, ResetStartsOver) {
  Backoff backoff({milliseconds(50), milliseconds(1000)}, [] { return 1.0; });
  Delays(backoff, 10);

  backoff.Reset();

  EXPECT_THAT(Delays(backoff, 2), ElementsAre(50'000, 100'000));
}

}  // namespace
}  // namespace lockkeeper::loop
