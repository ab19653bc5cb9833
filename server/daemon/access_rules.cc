// SPDX-License-Identifier: Apache-2.0
#include "daemon/access_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "config/listen_address.h"
#include "config/lock_limits.h"
#include "core/errors.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::daemon {

namespace field = telemetry::field;

namespace {

bool HasMutualTls(const config::ServerConfig& config) {
  return std::any_of(config.listen.begin(), config.listen.end(), [](const std::string& text) {
    const auto address = config::ParseListenAddress(text);
    return address.ok() && address->security == config::Security::kMutualTls;
  });
}

access::PolicySurroundings SurroundingsOf(const config::Config& config) {
  const core::ConfiguredLimits limits = config::LimitsOf(config);
  return {.has_mutual_tls = HasMutualTls(config.server),
          .longest_ttl = limits.LongestTtl(),
          .max_wait = limits.max_wait,
          .waiters_max = config.waiters.per_principal_max};
}

}  // namespace

absl::Time WallTimeNow() { return absl::FromChrono(telemetry::SystemWallTime()); }

absl::StatusOr<AccessRules> AccessRules::Load(const config::Config& config) {
  AccessRules rules;
  rules.files_ = {.policy = config.access.policy_file,
                  .tokens = config.access.tokens_file,
                  .around = SurroundingsOf(config)};
  access::AccessFilesReader reader(rules.files_);
  if (const text::Problem problem = reader.Read(rules.contents_)) {
    return core::Error(core::ErrorReason::kInvalidField, *problem);
  }
  access::LoadedRulebook made = MakeRulebook(rules.files_, rules.contents_, WallTimeNow());
  if (made.rulebook == nullptr) {
    return core::Error(core::ErrorReason::kInvalidField, absl::StrJoin(made.problems, "\n"));
  }
  rules.rulebook_ = std::move(made.rulebook);
  rules.warnings_ = std::move(made.warnings);
  return rules;
}

os::WatchedFiles::Read AccessRules::Reader() const {
  return [reader = access::AccessFilesReader(files_)](os::Contents& contents) mutable {
    return reader.Read(contents);
  };
}

os::WatchedFiles::Take AccessRules::Taker(access::AccessControl& access,
                                          telemetry::Logger logger) const {
  return [files = files_, &access, logger](const os::Contents& contents) -> text::Problem {
    access::LoadedRulebook made = MakeRulebook(files, contents, WallTimeNow());
    if (made.rulebook == nullptr) return absl::StrJoin(made.problems, "; ");
    LogWarnings(logger, made.warnings);
    access.Replace(std::move(made.rulebook));
    return std::nullopt;
  };
}

bool HasReflection(const config::Config& config) {
  if (config.server.reflection != config::Reflection::kAuto) {
    return config.server.reflection == config::Reflection::kOn;
  }
  return config.access.policy_file.empty();
}

void LogWarnings(const telemetry::Logger& logger, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    logger.Warn("access.warning", "Something in the files of policy or tokens has no effect",
                {field::Detail(warning)});
  }
}

}  // namespace lockkeeper::daemon
