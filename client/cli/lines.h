// SPDX-License-Identifier: Apache-2.0
//
// Texts that several commands print: titled lines, and times of messages.
#pragma once

#include <google/protobuf/duration.pb.h>

#include <chrono>
#include <string>
#include <string_view>

namespace lockkeeper::cli {

// "\n  title          value". Empty if the value is.
std::string Line(std::string_view title, const std::string& value);

// In whole milliseconds, towards zero. Negative if `duration` is.
std::chrono::milliseconds Millis(const google::protobuf::Duration& duration);

// Name of an enum value in lower case without its prefix; empty for UNSPECIFIED and unknown ones.
std::string EnumWord(std::string name, std::string_view prefix);

// "2d3h" or "28d", for what lasts days; "5m10s" below a day. Requires: not negative.
std::string InDays(std::chrono::milliseconds duration);

}  // namespace lockkeeper::cli
