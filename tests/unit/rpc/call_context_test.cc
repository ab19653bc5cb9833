// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_context.h"

#include <gtest/gtest.h>

namespace lockkeeper::rpc {
namespace {

using core::Instant;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Instant kNow = Instant(hours(1));

gpr_timespec In(gpr_clock_type clock, milliseconds time) {
  return gpr_time_add(gpr_now(clock), gpr_time_from_millis(time.count(), GPR_TIMESPAN));
}

TEST(CallContextTest, DeadlineIsAsFarFromNowOnTheOtherClock) {
  for (const gpr_clock_type clock : {GPR_CLOCK_MONOTONIC, GPR_CLOCK_REALTIME}) {
    const Instant deadline = ToInstant(In(clock, seconds(60)), kNow);
    EXPECT_LE(deadline, kNow + seconds(60));
    EXPECT_GT(deadline, kNow + seconds(50));
  }
}

TEST(CallContextTest, FractionsOfASecondCount) {
  const Instant deadline = ToInstant(In(GPR_CLOCK_MONOTONIC, milliseconds(999'900)), kNow);
  EXPECT_LE(deadline, kNow + milliseconds(999'900));
  EXPECT_NE(deadline, kNow + seconds(999));
}

TEST(CallContextTest, NoDeadlineAndOneFarAwayAreNone) {
  EXPECT_EQ(ToInstant(gpr_inf_future(GPR_CLOCK_MONOTONIC), kNow), Instant::max());
  EXPECT_EQ(ToInstant(gpr_inf_future(GPR_CLOCK_REALTIME), kNow), Instant::max());
  EXPECT_EQ(ToInstant(In(GPR_CLOCK_MONOTONIC, hours(24 * 366)), kNow), Instant::max());
  EXPECT_EQ(ToInstant(gpr_timespec{int64_t{1} << 60, 0, GPR_CLOCK_MONOTONIC}, kNow),
            Instant::max());
}

TEST(CallContextTest, PassedDeadlineIsNow) {
  EXPECT_EQ(ToInstant(In(GPR_CLOCK_MONOTONIC, seconds(-5)), kNow), kNow);
  EXPECT_EQ(ToInstant(gpr_inf_past(GPR_CLOCK_MONOTONIC), kNow), kNow);
}

}  // namespace
}  // namespace lockkeeper::rpc
