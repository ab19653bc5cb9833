// SPDX-License-Identifier: Apache-2.0
//
// How a record becomes one line. Whatever the texts contain, the line stays one line of valid UTF-8
// and reads back: control characters and broken UTF-8 are escaped, long texts are cut.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "telemetry/log.h"

namespace lockkeeper::telemetry {

// Bytes of one text in a record; what is longer is cut and ends in "...". The longest lock name and
// owner fit.
inline constexpr size_t kLogTextBytesMax = 1024;

struct LogRecord {
  std::chrono::system_clock::time_point time;
  LogLevel level = LogLevel::kInfo;
  std::string_view component;
  std::string_view event;
  std::string_view message;
  LogFields fields;
};

// ts=2026-01-02T03:04:05.678901Z level=info component=redis event=store.up msg="..." node=...
// Texts with spaces, quotes or anything escaped stand in double quotes; escapes are those of C.
std::string FormatText(const LogRecord& record);

// The same as a JSON object. Numbers and truth values are not quoted; broken UTF-8 becomes U+FFFD.
std::string FormatJson(const LogRecord& record);

}  // namespace lockkeeper::telemetry
