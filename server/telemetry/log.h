// SPDX-License-Identifier: Apache-2.0
//
// Structured log records: one line each, as key=value text or as a JSON object, with the same keys
// in both. `event` is a stable dotted name and `message` a constant; everything that varies is a
// field, see log_fields.h. docs/reference/log_events.md lists the events.
//
// Levels: DEBUG routine operations; INFO at most every few seconds in steady state; WARN a
// temporary condition that may cause errors; ERROR a request failed for a bad reason or an
// invariant broke.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/types/span.h"
#include "core/types.h"
#include "telemetry/log_field.h"

namespace lockkeeper::telemetry {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

struct LogOptions {
  LogFormat format = LogFormat::kText;
  LogLevel level = LogLevel::kInfo;  // Records below it are left out.
};

// Writes finished lines, which come without their newline.
//
// Thread-safety: thread-safe. Must not block for long: event loops write records.
class LogOutput {
 public:
  virtual ~LogOutput() = default;
  virtual void Write(std::string_view line) = 0;
  // Lines that could not be written, since the start.
  virtual int64_t lost() const { return 0; }
};

// Writes to standard error, on its own thread. If standard error is too slow, the oldest queued
// lines are dropped; the next record says how many, in `lost`. The destructor writes the queued
// lines.
std::unique_ptr<LogOutput> MakeStderrOutput();

struct LogTime {
  std::chrono::system_clock::time_point wall;  // For `ts`.
  core::Instant monotonic;                     // For LogLimit.
};
using LogClock = std::function<LogTime()>;

LogTime SystemLogTime();

// The wall clock alone.
std::chrono::system_clock::time_point SystemWallTime();

using LogFields = absl::Span<const LogField>;

// The one log of the daemon. Records are written through Loggers.
//
// Thread-safety: thread-safe. Lifetime: borrows `output`.
class Log {
 public:
  Log(LogOptions options, LogOutput& output, LogClock clock = SystemLogTime);

  bool Enabled(LogLevel level) const { return level >= level_.load(std::memory_order_relaxed); }
  // Of the records that come from now on.
  void SetLevel(LogLevel level) { level_.store(level, std::memory_order_relaxed); }
  // With the level of now.
  LogOptions options() const { return {.format = format_, .level = level_.load()}; }
  LogTime Now() const { return clock_(); }
  void Write(LogLevel level, std::string_view component, std::string_view event,
             std::string_view message, LogFields fields);

 private:
  const LogFormat format_;
  std::atomic<LogLevel> level_;
  LogOutput& output_;
  const LogClock clock_;
  std::atomic<int64_t> lost_{0};  // Already reported in `lost`.
};

// Lets one record per interval through and counts the others. For each kind of record that a
// client, or a loop of ours, can cause again and again.
//
// Thread-safety: thread-safe.
class LogLimit {
 public:
  explicit LogLimit(core::Millis interval = std::chrono::seconds(1)) : interval_(interval) {}

  // Whether a record may be written at `now`. If so, sets `suppressed` to the number of records
  // that were left out since the last one.
  bool Allows(core::Instant now, int64_t& suppressed);

 private:
  const core::Millis interval_;
  std::atomic<core::Instant::rep> next_{core::Instant::min().time_since_epoch().count()};
  std::atomic<int64_t> suppressed_{0};
};

// Writes records of one component, which is the name of a folder of server/. Cheap to copy.
//
// Thread-safety: thread-safe. Lifetime: borrows the log and the text of `component`.
class Logger {
 public:
  Logger(Log& log, std::string_view component) : log_(&log), component_(component) {}

  // Whether a record of `level` would be written. Ask before making costly fields.
  bool Enabled(LogLevel level) const { return log_->Enabled(level); }

  void Debug(std::string_view event, std::string_view message, LogFields fields = {}) const;
  void Info(std::string_view event, std::string_view message, LogFields fields = {}) const;
  void Warn(std::string_view event, std::string_view message, LogFields fields = {}) const;
  void Error(std::string_view event, std::string_view message, LogFields fields = {}) const;

  // Writes if `limit` allows, with the field `suppressed` if records were left out before.
  void WriteLimited(LogLimit& limit, LogLevel level, std::string_view event,
                    std::string_view message, LogFields fields = {}) const;

 private:
  void Write(LogLevel level, std::string_view event, std::string_view message,
             LogFields fields) const;

  Log* log_;
  std::string_view component_;
};

}  // namespace lockkeeper::telemetry
