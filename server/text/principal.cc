// SPDX-License-Identifier: Apache-2.0
#include "text/principal.h"

#include <string>

#include "text/utf8.h"

namespace lockkeeper::text {

bool IsPrincipal(std::string_view name) {
  return !name.empty() && name.size() <= kPrincipalBytesMax && name != kAnonymous &&
         FindTextFault(name) == TextFault::kNone;
}

Problem CheckPrincipal(std::string_view name) {
  if (IsPrincipal(name)) return std::nullopt;
  return "must be 1 to " + std::to_string(kPrincipalBytesMax) +
         " bytes of UTF-8 without control characters, and not \"" + std::string(kAnonymous) +
         "\", is " + Quoted(name);
}

}  // namespace lockkeeper::text
