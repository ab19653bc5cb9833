// SPDX-License-Identifier: Apache-2.0
#include "config/setting.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "config/url.h"
#include "text/duration.h"
#include "text/utf8.h"

namespace lockkeeper::config {
namespace {

using Texts = std::vector<std::string>;

// The words for an enumeration, in the order of its values.
constexpr std::array<std::string_view, 2> kLogFormats = {"text", "json"};
constexpr std::array<std::string_view, 4> kLogLevels = {"debug", "info", "warn", "error"};

constexpr std::array<std::string_view, 2> kFirstUses = {"grant", "quarantine"};
constexpr std::array<std::string_view, 3> kQuarantines = {"on", "until_restored", "off"};

constexpr std::array<std::string_view, 3> kReflections = {"auto", "on", "off"};

constexpr const auto& WordsOf(Reflection) { return kReflections; }
constexpr const auto& WordsOf(FirstUse) { return kFirstUses; }
constexpr const auto& WordsOf(Quarantine) { return kQuarantines; }
constexpr const auto& WordsOf(LogFormat) { return kLogFormats; }
constexpr const auto& WordsOf(LogLevel) { return kLogLevels; }

template <typename T>
concept Enumeration = std::is_enum_v<T>;

template <size_t N>
std::string Enumerate(const std::array<std::string_view, N>& words) {
  std::string all;
  for (size_t i = 0; i < N; ++i) {
    if (i > 0) all += i + 1 == N ? " or " : ", ";
    all += words[i];
  }
  return all;
}

// --- parsing: each takes one text -------------------------------------------------------------

text::Problem Parse(const Setting& setting, const std::string& text, std::string& out) {
  switch (text::FindTextFault(text)) {
    case text::TextFault::kNone:
      break;
    case text::TextFault::kNotUtf8:
      return "is not valid UTF-8";
    case text::TextFault::kControlCharacter:
      return "contains a control character";
  }
  if (setting.check != nullptr) {
    if (text::Problem problem = setting.check(text)) return problem;
  }
  out = text;
  return std::nullopt;
}

text::Problem Parse(const Setting& setting, const std::string& text, text::Secret& out) {
  std::string value;
  if (text::Problem problem = Parse(setting, text, value)) return problem;
  out = text::Secret(std::move(value));
  return std::nullopt;
}

text::Problem Parse(const Setting&, const std::string& text, bool& out) {
  if (text != "true" && text != "false") return "must be true or false, is " + text::Quoted(text);
  out = text == "true";
  return std::nullopt;
}

text::Problem Parse(const Setting& setting, const std::string& text, int& out) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size() && !text.empty();
  if (!whole || error == std::errc::invalid_argument) {
    return "must be a whole number, is " + text::Quoted(text);
  }
  if (error != std::errc() || number < setting.low || number > setting.high) {
    return "must be from " + std::to_string(setting.low) + " to " + std::to_string(setting.high) +
           ", is " + text;
  }
  out = static_cast<int>(number);
  return std::nullopt;
}

text::Problem Parse(const Setting& setting, const std::string& text, double& out) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size() && !text.empty();
  if (!whole || error == std::errc::invalid_argument || std::isnan(number)) {
    return "must be a number, is " + text::Quoted(text);
  }
  if (error != std::errc() || number < static_cast<double>(setting.low) ||
      number > static_cast<double>(setting.high)) {
    return "must be from " + std::to_string(setting.low) + " to " + std::to_string(setting.high) +
           ", is " + text;
  }
  out = number;
  return std::nullopt;
}

text::Problem Parse(const Setting& setting, const std::string& text, Millis& out) {
  Millis duration{0};
  if (text::Problem problem = text::ParseDuration(text, duration)) return problem;
  const bool in_range = duration >= Millis(setting.low) && duration <= Millis(setting.high);
  if (!in_range && !(setting.zero_too && duration == Millis(0))) {
    return "must be " + std::string(setting.zero_too ? "0s, or " : "") + "from " +
           text::FormatDuration(Millis(setting.low)) + " to " +
           text::FormatDuration(Millis(setting.high)) + ", is " + text;
  }
  out = duration;
  return std::nullopt;
}

template <Enumeration T>
text::Problem Parse(const Setting&, const std::string& text, T& out) {
  const auto& words = WordsOf(T());
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) return "must be " + Enumerate(words) + ", is " + text::Quoted(text);
  out = static_cast<T>(found - words.begin());
  return std::nullopt;
}

text::Problem ParseList(const Setting& setting, const Texts& texts, Texts& out) {
  if (texts.empty() && !setting.may_be_empty) return "must have at least one entry";
  Texts values(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    if (text::Problem problem = Parse(setting, texts[i], values[i])) return problem;
  }
  out = std::move(values);
  return std::nullopt;
}

// --- printing ---------------------------------------------------------------------------------

std::string Text(const std::string& value) { return value; }
std::string Text(const text::Secret& value) { return MaskUrl(value); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(int value) { return std::to_string(value); }
std::string Text(double value) {
  std::array<char, 32> digits{};  // The shortest form that is read as the same number.
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() ? std::string(digits.data(), end) : std::string();
}
std::string Text(Millis value) { return text::FormatDuration(value); }
template <Enumeration T>
std::string Text(T value) {
  return std::string(WordsOf(value).at(static_cast<size_t>(value)));
}

// --- describing -------------------------------------------------------------------------------

std::string Describe(const Setting&, const std::string*) { return "text"; }
std::string Describe(const Setting&, const Texts*) { return "list of texts"; }
std::string Describe(const Setting&, const text::Secret*) { return "URL"; }
std::string Describe(const Setting&, const bool*) { return "true or false"; }
std::string Describe(const Setting& setting, const int*) {
  return "number, " + std::to_string(setting.low) + " to " + std::to_string(setting.high);
}
std::string Describe(const Setting& setting, const double*) {
  return "fraction, " + std::to_string(setting.low) + " to " + std::to_string(setting.high);
}
std::string Describe(const Setting& setting, const Millis*) {
  return "duration, " + text::FormatDuration(Millis(setting.low)) + " to " +
         text::FormatDuration(Millis(setting.high)) + (setting.zero_too ? ", or 0s" : "");
}
template <Enumeration T>
std::string Describe(const Setting&, const T*) {
  return Enumerate(WordsOf(T()));
}

}  // namespace

text::Problem Assign(const Setting& setting, const RawValue& value, Config& config) {
  return std::visit(
      [&]<typename T>(const FieldOf<T>& field) -> text::Problem {
        const bool is_list = value.shape == RawValue::Shape::kList;
        if constexpr (std::is_same_v<T, Texts>) {
          return ParseList(setting, value.texts, field.edit(config));
        } else {
          if (is_list) return "must be one value, is a list";
          return Parse(setting, value.texts.at(0), field.edit(config));
        }
      },
      setting.field);
}

RawValue Show(const Setting& setting, const Config& config) {
  return std::visit(
      [&]<typename T>(const FieldOf<T>& field) -> RawValue {
        if constexpr (std::is_same_v<T, Texts>) {
          return {.shape = RawValue::Shape::kList, .texts = field.read(config)};
        } else {
          return {.shape = RawValue::Shape::kText, .texts = {Text(field.read(config))}};
        }
      },
      setting.field);
}

std::string EnvironmentName(const Setting& setting) {
  std::string name(setting.key);
  std::replace(name.begin(), name.end(), '.', '_');
  return "LOCKKEEPERD_" + absl::AsciiStrToUpper(name);
}

std::string DescribeValues(const Setting& setting) {
  return std::visit(
      [&]<typename T>(const FieldOf<T>&) {
        return Describe(setting, static_cast<const T*>(nullptr));
      },
      setting.field);
}

}  // namespace lockkeeper::config
