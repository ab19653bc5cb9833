// SPDX-License-Identifier: Apache-2.0
#include "core/configured_limits.h"

#include <algorithm>

namespace lockkeeper::core {

Ttls ConfiguredLimits::TtlsOf(std::string_view name) const {
  const PrefixTtls* longest = nullptr;
  for (const PrefixTtls& ttls : ttls_by_prefix) {
    if (!name.starts_with(ttls.prefix)) continue;
    if (longest == nullptr || ttls.prefix.size() > longest->prefix.size()) longest = &ttls;
  }
  Ttls found{.default_ttl = default_ttl, .max_ttl = max_ttl, .prefix = {}};
  if (longest != nullptr) {
    found.default_ttl = longest->default_ttl.value_or(default_ttl);
    if (longest->max_ttl) {
      found.max_ttl = *longest->max_ttl;
      found.prefix = longest->prefix;
    }
  }
  found.default_ttl = std::min(found.default_ttl, found.max_ttl);
  return found;
}

Millis ConfiguredLimits::LongestTtl() const {
  Millis longest = max_ttl;
  for (const PrefixTtls& ttls : ttls_by_prefix) {
    longest = std::max(longest, ttls.max_ttl.value_or(longest));
  }
  return longest;
}

}  // namespace lockkeeper::core
