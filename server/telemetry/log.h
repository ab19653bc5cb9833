// SPDX-License-Identifier: Apache-2.0
//
// Structured records of what happens: one line each, as key=value text or as a JSON object, with
// the same keys in both. `event` is a stable dotted name and `message` a constant; whatever varies
// is a field, see log_fields.h. docs/reference/log_events.md lists the events.
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

// Takes finished lines, without their newline.
//
// Thread-safety: thread-safe. Must not block for long: event loops write records.
class LogOutput {
 public:
  virtual ~LogOutput() = default;
  virtual void Write(std::string_view line) = 0;
  // Lines that could not be written, since the start.
  virtual int64_t lost() const { return 0; }
};

// Standard error, by a thread of its own. If standard error does not take lines as fast as they
// come, the oldest of those that wait are lost; the next record says how many, in `lost`.
// Destroying it writes what waits.
std::unique_ptr<LogOutput> MakeStderrOutput();

struct LogTime {
  std::chrono::system_clock::time_point wall;  // For `ts`.
  core::Instant monotonic;                     // For LogLimit.
};
using LogClock = std::function<LogTime()>;

LogTime SystemLogTime();

using LogFields = absl::Span<const LogField>;

// The one log of the daemon. Records are written through Loggers.
//
// Thread-safety: thread-safe. Lifetime: borrows `output`.
class Log {
 public:
  Log(LogOptions options, LogOutput& output, LogClock clock = SystemLogTime);

  bool Enabled(LogLevel level) const { return level >= options_.level; }
  LogTime Now() const { return clock_(); }
  void Write(LogLevel level, std::string_view component, std::string_view event,
             std::string_view message, LogFields fields);

 private:
  const LogOptions options_;
  LogOutput& output_;
  const LogClock clock_;
  std::atomic<int64_t> lost_{0};  // Told so far.
};

// Lets one record through per interval and counts the others. For whatever a client, or a loop of
// our own, can cause again and again. One for each kind of record.
//
// Thread-safety: thread-safe.
class LogLimit {
 public:
  explicit LogLimit(core::Millis interval = std::chrono::seconds(1)) : interval_(interval) {}

  // Whether a record may be written at `now`; if so, sets `suppressed` to the number of those that
  // were not since the last one.
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

  // Whether a record of `level` would be written: ask before building costly fields.
  bool Enabled(LogLevel level) const { return log_->Enabled(level); }

  void Debug(std::string_view event, std::string_view message, LogFields fields = {}) const;
  void Info(std::string_view event, std::string_view message, LogFields fields = {}) const;
  void Warn(std::string_view event, std::string_view message, LogFields fields = {}) const;
  void Error(std::string_view event, std::string_view message, LogFields fields = {}) const;

  // Writes if `limit` allows, with the field `suppressed` if it did not allow others before.
  void WriteLimited(LogLimit& limit, LogLevel level, std::string_view event,
                    std::string_view message, LogFields fields = {}) const;

 private:
  void Write(LogLevel level, std::string_view event, std::string_view message,
             LogFields fields) const;

  Log* log_;
  std::string_view component_;
};

}  // namespace lockkeeper::telemetry
