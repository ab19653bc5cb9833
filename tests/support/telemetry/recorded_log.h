// SPDX-License-Identifier: Apache-2.0
//
// A log whose lines a test can look at, at a time that the test sets.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/log.h"

namespace lockkeeper::support {

// Thread-safety: thread-safe.
class RecordedLines : public telemetry::LogOutput {
 public:
  void Write(std::string_view line) override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }
  int64_t lost() const override { return lost_; }

  // The lines written since the last call.
  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

  void set_lost(int64_t lost) { lost_ = lost; }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  int64_t lost_ = 0;
};

// 2026-01-02T03:04:05.678901Z, until it is moved.
class RecordedLog {
 public:
  explicit RecordedLog(telemetry::LogOptions options = {.level = telemetry::LogLevel::kDebug})
      : log_(options, lines_, [this] { return now_; }) {}

  telemetry::Logger logger() { return telemetry::Logger(log_, "test"); }
  telemetry::Log& log() { return log_; }
  RecordedLines& output() { return lines_; }
  std::vector<std::string> Take() { return lines_.Take(); }

  void Advance(core::Millis time) {
    now_.wall += time;
    now_.monotonic += time;
  }

 private:
  telemetry::LogTime now_{
      .wall = std::chrono::system_clock::time_point(std::chrono::microseconds(1767323045678901)),
      .monotonic = {}};
  RecordedLines lines_;
  telemetry::Log log_;
};

}  // namespace lockkeeper::support
