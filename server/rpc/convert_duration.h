// SPDX-License-Identifier: Apache-2.0
//
// google.protobuf.Duration and Timestamp to and from the domain's times. Whole milliseconds go in,
// because limits and records count in them; microseconds come out, because the store counts so.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "core/types.h"
#include "core/wall_time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace lockkeeper::rpc {

// A duration that a caller asks for, rounded up to whole milliseconds.
// Errors: INVALID_FIELD if it is negative, or not a well-formed Duration (nanos beyond 999,999,999,
// or more than 10,000 years). Limits of the single fields are in core/validation.
absl::StatusOr<core::Millis> ToMillis(std::string_view field,
                                      const google::protobuf::Duration& duration);

void ToProto(core::Micros from, google::protobuf::Duration& to);

// Requires: not before 1970.
void ToProto(core::NodeTime from, google::protobuf::Timestamp& to);
void ToProto(core::WallTime from, google::protobuf::Timestamp& to);

}  // namespace lockkeeper::rpc
