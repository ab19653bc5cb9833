// SPDX-License-Identifier: Apache-2.0
#include "telemetry/store_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const core::Instant kNow{std::chrono::hours(1)};

StoreStatus Quarantined(int64_t epoch) {
  return {.grants = false,
          .epoch = epoch,
          .quarantine_end = {5'000'000},
          .quarantine_over = kNow + seconds(5)};
}

StoreStatus QuarantinedFor(int64_t epoch, const std::string& loss) {
  StoreStatus status = Quarantined(epoch);
  status.loss = loss;
  status.loss_detail = "Redis was " + loss;
  status.noticed = {4'000'000};
  return status;
}

TEST(StoreStatusTest, GrantingHasNoProblem) { EXPECT_EQ(StoreStatus{}.GrantProblem(kNow), ""); }

TEST(StoreStatusTest, QuarantineSaysHowLongAndWhy) {
  const StoreStatus status = QuarantinedFor(2, "emptied");

  EXPECT_EQ(status.GrantProblem(kNow), "quarantined for another 5.0 s: Redis was emptied");
  EXPECT_THAT(status.GrantProblem(kNow + milliseconds(4'701)), HasSubstr("another 0.3 s"));
  EXPECT_THAT(status.GrantProblem(kNow + milliseconds(4'901)), HasSubstr("another 0.1 s"));
  EXPECT_THAT(status.GrantProblem(kNow + seconds(9)), HasSubstr("another 0.0 s")) << "about to end";
}

TEST(StoreStatusTest, QuarantineThatSomebodyElseNoticedSaysWhereToLook) {
  EXPECT_THAT(Quarantined(2).GrantProblem(kNow), HasSubstr("guard.loss_suspected"));
}

TEST(StoreStatusTest, SettingIsNamedFirstForItDoesNotPass) {
  StoreStatus status = QuarantinedFor(2, "evicted");
  status.setting_problem = "may evict locks";

  EXPECT_EQ(status.GrantProblem(kNow), "nothing new is granted: the store may evict locks");
}

}  // namespace
}  // namespace lockkeeper::telemetry
