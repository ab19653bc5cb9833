// SPDX-License-Identifier: Apache-2.0
#include "telemetry/grant_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const core::Instant kNow{std::chrono::hours(1)};

GrantHealth Quarantined(int64_t epoch) {
  return {.granting = false,
          .epoch = epoch,
          .quarantine_end = {5'000'000},
          .quarantine_over = kNow + seconds(5)};
}

GrantHealth QuarantinedFor(int64_t epoch, const std::string& loss) {
  GrantHealth health = Quarantined(epoch);
  health.loss = loss;
  health.loss_detail = "Redis was " + loss;
  health.noticed = {4'000'000};
  return health;
}

TEST(GrantHealthTest, GrantingHasNoProblem) { EXPECT_EQ(GrantHealth{}.Problem(kNow), ""); }

TEST(GrantHealthTest, QuarantineSaysHowLongAndWhy) {
  const GrantHealth health = QuarantinedFor(2, "emptied");

  EXPECT_EQ(health.Problem(kNow), "quarantined for another 5.0 s: Redis was emptied");
  EXPECT_THAT(health.Problem(kNow + milliseconds(4'701)), HasSubstr("another 0.3 s"));
  EXPECT_THAT(health.Problem(kNow + milliseconds(4'901)), HasSubstr("another 0.1 s"));
  EXPECT_THAT(health.Problem(kNow + seconds(9)), HasSubstr("another 0.0 s")) << "about to end";
}

TEST(GrantHealthTest, QuarantineThatSomebodyElseNoticedSaysWhereToLook) {
  EXPECT_THAT(Quarantined(2).Problem(kNow), HasSubstr("guard.loss_suspected"));
}

TEST(GrantHealthTest, SettingIsNamedFirstForItDoesNotPass) {
  GrantHealth health = QuarantinedFor(2, "evicted");
  health.setting_problem = "may evict locks";

  EXPECT_EQ(health.Problem(kNow), "nothing new is granted: the store may evict locks");
}

}  // namespace
}  // namespace lockkeeper::telemetry
