// SPDX-License-Identifier: Apache-2.0
//
// A name and a typed value of a log record. Made by the functions of log_fields.h, so that each
// name has one spelling and one type.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <variant>

#include "core/types.h"

namespace lockkeeper::telemetry {

// The first 8 digits of a lease id: enough to find it in the log, useless as a credential.
class LeaseIdPrefix {
 public:
  explicit LeaseIdPrefix(const core::LeaseId& id) { id.digits().copy(digits_.data(), 8); }
  std::string_view digits() const { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, 8> digits_;
};

// Lifetime: borrows its name and its text; made for the duration of one call.
class LogField {
 public:
  using Value = std::variant<std::string_view, int64_t, double, bool, LeaseIdPrefix>;

  LogField(std::string_view name, std::string_view text) : name_(name), value_(text) {}
  LogField(std::string_view name, LeaseIdPrefix prefix) : name_(name), value_(prefix) {}
  LogField(std::string_view name, double number) : name_(name), value_(number) {}
  // Template, so that a `const char*` does not become a bool.
  template <std::same_as<bool> T>
  LogField(std::string_view name, T value) : name_(name), value_(value) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  LogField(std::string_view name, T number) : name_(name), value_(static_cast<int64_t>(number)) {}

  std::string_view name() const { return name_; }
  const Value& value() const { return value_; }

 private:
  std::string_view name_;
  Value value_;
};

}  // namespace lockkeeper::telemetry
