// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_duration.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/errors.h"

namespace lockkeeper::rpc {
namespace {

using google::protobuf::Duration;

Duration Of(int64_t seconds, int32_t nanos) {
  Duration duration;
  duration.set_seconds(seconds);
  duration.set_nanos(nanos);
  return duration;
}

TEST(ConvertDurationTest, WholeAndBegunMillisecondsAreCounted) {
  EXPECT_EQ(*ToMillis("ttl", Of(0, 0)), core::Millis(0));
  EXPECT_EQ(*ToMillis("ttl", Of(0, 1)), core::Millis(1));
  EXPECT_EQ(*ToMillis("ttl", Of(0, 999'999)), core::Millis(1));
  EXPECT_EQ(*ToMillis("ttl", Of(0, 1'000'000)), core::Millis(1));
  EXPECT_EQ(*ToMillis("ttl", Of(0, 1'000'001)), core::Millis(2));
  EXPECT_EQ(*ToMillis("ttl", Of(1, 999'999'999)), core::Millis(2'000));
  EXPECT_EQ(*ToMillis("ttl", Of(315'576'000'000, 0)), core::Millis(315'576'000'000'000));
}

TEST(ConvertDurationTest, MalformedDurationsNameTheField) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int32_t kNanosMin = std::numeric_limits<int32_t>::min();
  constexpr int32_t kNanosMax = std::numeric_limits<int32_t>::max();
  for (const Duration& duration : {Of(-1, 0), Of(0, -1), Of(-1, 1), Of(1, -1), Of(kMin, 0),
                                   Of(kMin, kNanosMin), Of(0, 1'000'000'000), Of(0, kNanosMax),
                                   Of(315'576'000'001, 0), Of(kMax, 0), Of(kMax, kNanosMax)}) {
    const absl::Status status = ToMillis("lock_delay", duration).status();
    EXPECT_EQ(core::ReasonOf(status), core::ErrorReason::kInvalidField)
        << duration.ShortDebugString();
    EXPECT_EQ(core::FieldOf(status), "lock_delay");
  }
}

TEST(ConvertDurationTest, MicrosecondsComeOutExactly) {
  Duration duration;
  ToProto(core::Micros(61'000'001), duration);
  EXPECT_EQ(duration.seconds(), 61);
  EXPECT_EQ(duration.nanos(), 1'000);

  google::protobuf::Timestamp timestamp;
  ToProto(core::NodeTime{1'700'000'000'999'999}, timestamp);
  EXPECT_EQ(timestamp.seconds(), 1'700'000'000);
  EXPECT_EQ(timestamp.nanos(), 999'999'000);
}

}  // namespace
}  // namespace lockkeeper::rpc
