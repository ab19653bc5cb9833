// SPDX-License-Identifier: Apache-2.0
#include "access/name_mapping.h"

#include <algorithm>

#include "access/identity.h"

namespace lockkeeper::access {

text::Problem NameMapping::Check() const {
  const auto stars = [](std::string_view text) {
    return std::count(text.begin(), text.end(), '*');
  };
  if (match.empty()) return "match: must not be empty";
  if (stars(match) > 1) return "match: may have one '*', has more: " + text::Quoted(match);
  if (stars(principal) > stars(match)) {
    return "principal: may have a '*' if match has one: " + text::Quoted(principal);
  }
  if (const text::Problem problem = CheckPrincipal(principal)) return "principal: " + *problem;
  return std::nullopt;
}

std::optional<std::string> NameMapping::Map(std::string_view name) const {
  const size_t star = match.find('*');
  std::string mapped = principal;
  if (star == std::string::npos) {
    if (name != match) return std::nullopt;
  } else {
    const std::string_view before = std::string_view(match).substr(0, star);
    const std::string_view after = std::string_view(match).substr(star + 1);
    if (name.size() < before.size() + after.size() || !name.starts_with(before) ||
        !name.ends_with(after)) {
      return std::nullopt;
    }
    const std::string_view middle =
        name.substr(before.size(), name.size() - before.size() - after.size());
    if (const size_t place = mapped.find('*'); place != std::string::npos) {
      mapped.replace(place, 1, middle);
    }
  }
  if (!IsPrincipal(mapped)) return std::nullopt;
  return mapped;
}

}  // namespace lockkeeper::access
