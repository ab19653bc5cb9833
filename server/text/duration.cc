// SPDX-License-Identifier: Apache-2.0
#include "text/duration.h"

#include <array>
#include <charconv>
#include <chrono>
#include <limits>

#include "text/problem.h"

namespace lockkeeper::text {
namespace {

struct Unit {
  std::string_view name;
  int64_t millis;
};
constexpr std::array kUnits = {Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000},
                               Unit{"ms", 1}};

const Unit* FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

}  // namespace

Problem ParseDuration(std::string_view text, std::chrono::milliseconds& duration) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit_name = text.substr(static_cast<size_t>(end - text.data()));
  const bool is_number = error != std::errc::invalid_argument && text[0] != '-';
  if (is_number && unit_name.empty()) {
    return Quoted(text) + " is a bare number; give it a unit, such as " + std::string(text) +
           "s (units: ms, s, m, h)";
  }
  const Unit* unit = FindUnit(unit_name);
  if (!is_number || unit == nullptr) {
    return "has to be a whole number and a unit (ms, s, m, h), such as 30s; is " + Quoted(text);
  }
  if (error != std::errc() || number > std::numeric_limits<int64_t>::max() / unit->millis) {
    return Quoted(text) + " is too long";
  }
  duration = std::chrono::milliseconds(number * unit->millis);
  return std::nullopt;
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  if (duration == std::chrono::milliseconds(0)) return "0s";
  for (const Unit& unit : kUnits) {
    if (duration.count() % unit.millis == 0) {
      return std::to_string(duration.count() / unit.millis) + std::string(unit.name);
    }
  }
  return std::to_string(duration.count()) + "ms";
}

}  // namespace lockkeeper::text
