// SPDX-License-Identifier: Apache-2.0
//
// What somebody probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::cli {

// The word of `known` that is nearest to `typed`: at most two letters wrong, missing, too many or
// swapped, and less than half of it. Empty if there is none.
std::string Suggest(std::string_view typed, const std::vector<std::string>& known);

}  // namespace lockkeeper::cli
