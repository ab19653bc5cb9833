// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_duration.h"

#include <cstdint>

#include "core/errors.h"

namespace lockkeeper::rpc {
namespace {

// What google/protobuf/duration.proto allows: about 10,000 years.
constexpr int64_t kSecondsMax = 315'576'000'000;
constexpr int32_t kNanosMax = 999'999'999;

constexpr int64_t kMillisPerSecond = 1'000;
constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kNanosPerMicro = 1'000;

template <typename SecondsAndNanos>
void SetMicros(int64_t micros, SecondsAndNanos& to) {
  to.set_seconds(micros / kMicrosPerSecond);
  to.set_nanos(static_cast<int32_t>(micros % kMicrosPerSecond * kNanosPerMicro));
}

}  // namespace

absl::StatusOr<core::Millis> ToMillis(std::string_view field,
                                      const google::protobuf::Duration& duration) {
  const int64_t seconds = duration.seconds();
  const int64_t nanos = duration.nanos();
  if (seconds < 0 || nanos < 0) return core::InvalidField(field, "is negative");
  if (seconds > kSecondsMax) return core::InvalidField(field, "is longer than 10,000 years");
  if (nanos > kNanosMax) return core::InvalidField(field, "has nanos beyond 999,999,999");
  return core::Millis(seconds * kMillisPerSecond + (nanos + kNanosPerMilli - 1) / kNanosPerMilli);
}

void ToProto(core::Micros from, google::protobuf::Duration& to) { SetMicros(from.count(), to); }

void ToProto(core::NodeTime from, google::protobuf::Timestamp& to) { SetMicros(from.micros, to); }

void ToProto(core::WallTime from, google::protobuf::Timestamp& to) { SetMicros(from.micros, to); }

}  // namespace lockkeeper::rpc
