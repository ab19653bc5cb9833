// SPDX-License-Identifier: Apache-2.0
//
// The limits of ttls and waits, from their settings; and the setting lease.by_prefix.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "core/configured_limits.h"

namespace lockkeeper::config {

// Reads `PREFIX default_ttl=5m max_ttl=1h`, of which either ttl may be missing. Errors:
// INVALID_FIELD that says what is wrong with `text`.
absl::StatusOr<core::PrefixTtls> ParsePrefixTtls(std::string_view text);

// Requires: `config` was read by config_loader.
core::ConfiguredLimits LimitsOf(const Config& config);

}  // namespace lockkeeper::config
