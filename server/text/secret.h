// SPDX-License-Identifier: Apache-2.0
//
// A text that must not be shown. Its type keeps it out of logs and printed configuration.
#pragma once

#include <ostream>
#include <string>
#include <utility>

namespace lockkeeper::text {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  // The text itself, for the code that must use it.
  const std::string& reveal() const { return value_; }
  bool empty() const { return value_.empty(); }

 private:
  std::string value_;
};

inline std::ostream& operator<<(std::ostream& out, const Secret& secret) {
  return out << (secret.empty() ? "" : "***");
}

}  // namespace lockkeeper::text
