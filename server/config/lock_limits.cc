// SPDX-License-Identifier: Apache-2.0
#include "config/lock_limits.h"

#include <optional>
#include <string>
#include <utility>

#include "core/errors.h"
#include "core/limits.h"
#include "core/validation.h"
#include "text/duration.h"
#include "text/problem.h"

namespace lockkeeper::config {
namespace {

using core::Millis;

constexpr std::string_view kDefaultTtl = "default_ttl=";
constexpr std::string_view kMaxTtl = "max_ttl=";

// The ttl that `word` gives to `to`. `name` ends with '='.
text::Problem ReadTtl(std::string_view word, std::string_view name, Millis low,
                      std::optional<Millis>& to) {
  const std::string what(name.substr(0, name.size() - 1));
  if (to) return what + ": given twice";
  Millis ttl{0};
  const std::string text(word.substr(name.size()));
  if (const text::Problem problem = text::ParseDuration(text, ttl)) return what + ": " + *problem;
  if (ttl < low || ttl > core::limits::kTtlCeiling) {
    return what + ": must be from " + text::FormatDuration(low) + " to " +
           text::FormatDuration(core::limits::kTtlCeiling) + ", is " + text;
  }
  to = ttl;
  return std::nullopt;
}

absl::Status Invalid(std::string_view text, const std::string& problem) {
  return core::Error(core::ErrorReason::kInvalidField, text::Quoted(text) + ": " + problem);
}

}  // namespace

// From the right, because a name may have spaces.
absl::StatusOr<core::PrefixTtls> ParsePrefixTtls(std::string_view text) {
  core::PrefixTtls ttls;
  std::string_view left = text;
  for (;;) {
    const size_t space = left.rfind(' ');
    if (space == std::string_view::npos) break;
    const std::string_view word = left.substr(space + 1);
    text::Problem problem;
    if (word.starts_with(kDefaultTtl)) {
      problem = ReadTtl(word, kDefaultTtl, core::limits::kTtlMin, ttls.default_ttl);
    } else if (word.starts_with(kMaxTtl)) {
      problem = ReadTtl(word, kMaxTtl, core::limits::kMaxTtlMin, ttls.max_ttl);
    } else {
      break;
    }
    if (problem) return Invalid(text, *problem);
    left.remove_suffix(left.size() - space);
  }
  if (!ttls.default_ttl && !ttls.max_ttl) {
    return Invalid(text,
                   "must be the beginning of the names of locks and, after a space, default_ttl=, "
                   "max_ttl= or both, such as \"batch/ default_ttl=5m max_ttl=1h\"");
  }
  ttls.prefix = left;
  if (const absl::Status name = core::ValidateName("prefix", ttls.prefix); !name.ok()) {
    return Invalid(text, std::string(name.message()));
  }
  return ttls;
}

core::ConfiguredLimits LimitsOf(const Config& config) {
  core::ConfiguredLimits limits{.max_ttl = config.lease.max_ttl,
                                .default_ttl = config.lease.default_ttl,
                                .max_wait = config.waiters.max_wait,
                                .ttls_by_prefix = {}};
  for (const std::string& text : config.lease.by_prefix) {
    limits.ttls_by_prefix.push_back(*ParsePrefixTtls(text));
  }
  return limits;
}

}  // namespace lockkeeper::config
