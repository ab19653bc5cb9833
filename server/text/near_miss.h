// SPDX-License-Identifier: Apache-2.0
//
// Finds the word that a misspelled word probably means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::text {

// The element of `known` with the smallest edit distance from `word` (insertions, deletions,
// replacements, swaps of neighbours), if the distance is at most a third of its length. Of several,
// the first.
std::optional<std::string> NearMiss(std::string_view word, const std::vector<std::string>& known);

}  // namespace lockkeeper::text
