// SPDX-License-Identifier: Apache-2.0
#include "telemetry/log_format.h"

#include <array>
#include <charconv>
#include <cmath>

#include "absl/time/time.h"
#include "text/escape.h"

namespace lockkeeper::telemetry {
namespace {

std::string_view NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

std::string Timestamp(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

template <typename Number>
void AppendNumber(Number number, std::string& out) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  out.append(buffer.data(), result.ptr);
}

// `text`, or its beginning and "...", which is then in `storage`.
std::string_view Shortened(std::string_view text, std::string& storage) {
  if (text.size() <= kLogTextBytesMax) return text;
  storage = text::CutAtCharacter(text, kLogTextBytesMax);
  storage += "...";
  return storage;
}

class TextLine {
 public:
  void Add(std::string_view name, std::string_view text) {
    Begin(name);
    std::string storage;
    text::AppendTextValue(Shortened(text, storage), line_);
  }
  void Add(std::string_view name, int64_t number) {
    Begin(name);
    AppendNumber(number, line_);
  }
  void Add(std::string_view name, double number) {
    Begin(name);
    AppendNumber(number, line_);
  }
  void Add(std::string_view name, bool value) {
    Add(name, std::string_view(value ? "true" : "false"));
  }

  std::string Finish() { return std::move(line_); }

 private:
  void Begin(std::string_view name) {
    if (!line_.empty()) line_ += ' ';
    line_ += name;
    line_ += '=';
  }

  std::string line_;
};

class JsonLine {
 public:
  void Add(std::string_view name, std::string_view text) {
    Begin(name);
    std::string storage;
    text::AppendJsonString(Shortened(text, storage), line_);
  }
  void Add(std::string_view name, int64_t number) {
    Begin(name);
    AppendNumber(number, line_);
  }
  void Add(std::string_view name, double number) {
    Begin(name);
    if (std::isfinite(number)) {
      AppendNumber(number, line_);
    } else {
      line_ += "null";  // JSON has no word for infinity.
    }
  }
  void Add(std::string_view name, bool value) {
    Begin(name);
    line_ += value ? "true" : "false";
  }

  std::string Finish() { return std::move(line_) + '}'; }

 private:
  void Begin(std::string_view name) {
    line_ += line_.empty() ? '{' : ',';
    text::AppendJsonString(name, line_);
    line_ += ':';
  }

  std::string line_;
};

template <typename Line>
void AddField(const LogField& field, Line& line) {
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, LeaseIdPrefix>) {
          line.Add(field.name(), value.digits());
        } else {
          line.Add(field.name(), value);
        }
      },
      field.value());
}

template <typename Line>
std::string Format(const LogRecord& record) {
  Line line;
  line.Add("ts", std::string_view(Timestamp(record.time)));
  line.Add("level", NameOf(record.level));
  line.Add("component", record.component);
  line.Add("event", record.event);
  line.Add("msg", record.message);
  for (const LogField& field : record.fields) AddField(field, line);
  return line.Finish();
}

}  // namespace

std::string FormatText(const LogRecord& record) { return Format<TextLine>(record); }

std::string FormatJson(const LogRecord& record) { return Format<JsonLine>(record); }

}  // namespace lockkeeper::telemetry
