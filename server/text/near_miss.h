// SPDX-License-Identifier: Apache-2.0
//
// Finds the word that somebody probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::text {

// The one of `known` that is the fewest insertions, deletions, replacements and swaps of neighbours
// away from `word`, if they are at most a third of its length. The first one of equals.
std::optional<std::string> NearMiss(std::string_view word, const std::vector<std::string>& known);

}  // namespace lockkeeper::text
