// SPDX-License-Identifier: Apache-2.0
//
// A hash map of strings that can be asked with a view. Its hashes are the same in every run, unlike
// Abseil's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lockkeeper::support {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <typename T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

}  // namespace lockkeeper::support
