// SPDX-License-Identifier: Apache-2.0
#include "telemetry/log.h"

#include <vector>

#include "telemetry/log_fields.h"
#include "telemetry/log_format.h"

namespace lockkeeper::telemetry {
namespace {

std::vector<LogField> With(LogFields fields, LogField field) {
  std::vector<LogField> all(fields.begin(), fields.end());
  all.push_back(field);
  return all;
}

}  // namespace

LogTime SystemLogTime() {
  return {.wall = SystemWallTime(), .monotonic = std::chrono::steady_clock::now()};
}

std::chrono::system_clock::time_point SystemWallTime() { return std::chrono::system_clock::now(); }

Log::Log(LogOptions options, LogOutput& output, LogClock clock)
    : format_(options.format), level_(options.level), output_(output), clock_(std::move(clock)) {}

void Log::Write(LogLevel level, std::string_view component, std::string_view event,
                std::string_view message, LogFields fields) {
  if (!Enabled(level)) return;
  std::vector<LogField> with_lost;
  const int64_t lost = output_.lost();
  if (int64_t told = lost_.load(); lost > told && lost_.compare_exchange_strong(told, lost)) {
    with_lost = With(fields, field::Lost(lost - told));
    fields = with_lost;
  }
  const LogRecord record{.time = clock_().wall,
                         .level = level,
                         .component = component,
                         .event = event,
                         .message = message,
                         .fields = fields};
  output_.Write(format_ == LogFormat::kJson ? FormatJson(record) : FormatText(record));
}

bool LogLimit::Allows(core::Instant now, int64_t& suppressed) {
  const core::Instant::rep now_ticks = now.time_since_epoch().count();
  core::Instant::rep next = next_.load(std::memory_order_relaxed);
  if (now_ticks < next ||
      !next_.compare_exchange_strong(next, (now + interval_).time_since_epoch().count(),
                                     std::memory_order_relaxed)) {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  suppressed = suppressed_.exchange(0, std::memory_order_relaxed);
  return true;
}

void Logger::Debug(std::string_view event, std::string_view message, LogFields fields) const {
  Write(LogLevel::kDebug, event, message, fields);
}

void Logger::Info(std::string_view event, std::string_view message, LogFields fields) const {
  Write(LogLevel::kInfo, event, message, fields);
}

void Logger::Warn(std::string_view event, std::string_view message, LogFields fields) const {
  Write(LogLevel::kWarn, event, message, fields);
}

void Logger::Error(std::string_view event, std::string_view message, LogFields fields) const {
  Write(LogLevel::kError, event, message, fields);
}

void Logger::WriteLimited(LogLimit& limit, LogLevel level, std::string_view event,
                          std::string_view message, LogFields fields) const {
  if (!Enabled(level)) return;
  int64_t suppressed = 0;
  if (!limit.Allows(log_->Now().monotonic, suppressed)) return;
  if (suppressed == 0) {
    Write(level, event, message, fields);
  } else {
    Write(level, event, message, With(fields, field::Suppressed(suppressed)));
  }
}

void Logger::Write(LogLevel level, std::string_view event, std::string_view message,
                   LogFields fields) const {
  log_->Write(level, component_, event, message, fields);
}

}  // namespace lockkeeper::telemetry
