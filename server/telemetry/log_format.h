// SPDX-License-Identifier: Apache-2.0
//
// Formats a record as one line. The result is always a single line of valid UTF-8 that can be
// parsed again: control characters and malformed UTF-8 are escaped, long texts are cut.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "telemetry/log.h"

namespace lockkeeper::telemetry {

// The most bytes of one text in a record. A longer text is cut and ends in "...". The longest lock
// name and owner fit.
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
// Texts with spaces, quotes or escapes are in double quotes; the escapes are those of C.
std::string FormatText(const LogRecord& record);

// The same as a JSON object. Numbers and booleans are not quoted; malformed UTF-8 becomes U+FFFD.
std::string FormatJson(const LogRecord& record);

}  // namespace lockkeeper::telemetry
