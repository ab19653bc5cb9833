// SPDX-License-Identifier: Apache-2.0
//
// Which names a principal may have: for the daemon, and for whoever writes its files.
#pragma once

#include <cstddef>
#include <string_view>

#include "text/problem.h"

namespace lockkeeper::text {

// The principal of callers that prove nothing. No proof gives this name.
inline constexpr std::string_view kAnonymous = "anonymous";

// Longest name of a principal, in bytes; a SPIFFE id may have 2,048, but every lease keeps one.
inline constexpr size_t kPrincipalBytesMax = 256;

// A principal is 1 to kPrincipalBytesMax bytes of UTF-8 without control characters, and not
// "anonymous".
bool IsPrincipal(std::string_view name);

// The same; the problem names the rule and shows `name`.
Problem CheckPrincipal(std::string_view name);

}  // namespace lockkeeper::text
