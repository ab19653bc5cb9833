// SPDX-License-Identifier: Apache-2.0
//
// Makes a principal of what a proof says, by a pattern: `*.jobs.example.com` to `jobs-*`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/problem.h"

namespace lockkeeper::access {

struct NameMapping {
  std::string match;      // At most one '*', for any characters, none included.
  std::string principal;  // At most one '*', for what that of `match` stood for.

  // What is wrong with the two texts.
  text::Problem Check() const;

  // The principal for `name`, or nothing if it does not match, or would not be a principal.
  std::optional<std::string> Map(std::string_view name) const;
};

}  // namespace lockkeeper::access
