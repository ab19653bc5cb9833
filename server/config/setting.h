// SPDX-License-Identifier: Apache-2.0
//
// The description of one setting: its key, its field in Config, its values and its meaning.
// Reading, printing and documentation of the setting all use this description. settings.h has all
// settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "text/problem.h"

namespace lockkeeper::config {

// How to reach a field of Config.
template <typename T>
struct FieldOf {
  using Type = T;
  T& (*edit)(Config&);
  const T& (*read)(const Config&);
};

using Field = std::variant<FieldOf<std::string>, FieldOf<std::vector<std::string>>, FieldOf<bool>,
                           FieldOf<int>, FieldOf<double>, FieldOf<Millis>, FieldOf<text::Secret>,
                           FieldOf<LogFormat>, FieldOf<LogLevel>, FieldOf<FirstUse>,
                           FieldOf<Quarantine>, FieldOf<Reflection>>;

// The field `Member` of the section `Section`: At<&Config::server,
// &ServerConfig::connections_max>().
template <auto Section, auto Member>
constexpr auto At() {
  using T = std::remove_cvref_t<decltype(std::declval<Config>().*Section.*Member)>;
  return FieldOf<T>{[](Config& config) -> T& { return config.*Section.*Member; },
                    [](const Config& config) -> const T& { return config.*Section.*Member; }};
}

struct Setting {
  std::string_view key;  // "store.connect_timeout"
  Field field;
  int64_t low = 0;        // Range of a number, both ends included;
  int64_t high = 0;       // of a duration in milliseconds.
  bool zero_too = false;  // Of a duration: 0 is accepted besides the range.
  text::Problem (*check)(std::string_view text) = nullptr;  // Of a text, or of each text of a list.
  bool may_be_empty = false;                                // Of a list.
  bool reloadable = false;     // Takes effect while the daemon runs; see config_changes.h.
  std::string_view flag = {};  // "--listen"; empty: none.
  std::string_view environment_alias = {};  // A second name beside EnvironmentName(); empty: none.
  std::string_view meaning;                 // For the documentation.

  bool is_list() const { return std::holds_alternative<FieldOf<std::vector<std::string>>>(field); }
  bool is_secret() const { return std::holds_alternative<FieldOf<text::Secret>>(field); }
  std::string_view section() const { return key.substr(0, key.find('.')); }
  std::string_view name() const { return key.substr(key.find('.') + 1); }
};

// A value as it is in the file, in the environment or on the command line.
struct RawValue {
  enum class Shape { kText, kList };
  Shape shape = Shape::kText;
  std::vector<std::string> texts;  // Exactly one if the shape is kText.
};

// Parses `value` into the setting's field of `config`. On a problem the field does not change.
text::Problem Assign(const Setting& setting, const RawValue& value, Config& config);

// The setting's value in the form of a file; secrets are masked.
RawValue Show(const Setting& setting, const Config& config);

// "LOCKKEEPERD_STORE_CONNECT_TIMEOUT"
std::string EnvironmentName(const Setting& setting);

// The values that the setting accepts, for the documentation: "duration, 10ms to 1m".
std::string DescribeValues(const Setting& setting);

}  // namespace lockkeeper::config
