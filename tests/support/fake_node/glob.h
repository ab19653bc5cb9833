// SPDX-License-Identifier: Apache-2.0
//
// The patterns of SCAN MATCH.
#pragma once

#include <string_view>

namespace lockkeeper::support {

// Whether `text` matches `pattern` as Redis sees it: `*`, `?`, `[a-z]`, `[^a]`, and `\` before a
// character that stands for itself.
bool GlobMatches(std::string_view pattern, std::string_view text);

}  // namespace lockkeeper::support
