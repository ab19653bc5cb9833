// SPDX-License-Identifier: Apache-2.0
//
// Limits that the configuration sets; the fixed ones are in limits.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"
#include "core/types.h"

namespace lockkeeper::core {

// Ttls of the locks whose names begin with `prefix`. What is not given is that of all locks.
struct PrefixTtls {
  std::string prefix;
  std::optional<Millis> default_ttl;
  std::optional<Millis> max_ttl;
};

// Ttls of one lock.
struct Ttls {
  Millis default_ttl{};  // At most `max_ttl`.
  Millis max_ttl{};
  // Whose `max_ttl` it is. Empty: that of all locks. Lifetime: borrowed from the limits.
  std::string_view prefix;
};

struct ConfiguredLimits {
  Millis max_ttl{};
  Millis default_ttl = limits::kTtlDefault;
  Millis max_wait = limits::kWaitTimeoutMax;
  std::vector<PrefixTtls> ttls_by_prefix;

  // Those of the longest prefix that `name` begins with.
  Ttls TtlsOf(std::string_view name) const;

  // The longest ttl that any lock may have.
  Millis LongestTtl() const;
};

}  // namespace lockkeeper::core
