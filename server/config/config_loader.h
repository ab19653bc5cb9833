// SPDX-License-Identifier: Apache-2.0
//
// Puts the configuration together: defaults < file < environment < flags. Whatever is unknown,
// given twice, malformed or out of range is refused, all at once, each with its file and line,
// variable or flag. Nothing is read again afterwards.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"

namespace lockkeeper::config {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct FlagValue {
  std::string flag;  // "--listen"
  std::vector<std::string> values;
};

enum class User { kRoot, kOther };

struct ConfigSources {
  std::string file;  // Empty: none.
  Environment environment;
  std::vector<FlagValue> flags;
  User user = User::kOther;
};

struct LoadedConfig {
  Config config;
  // By key, where its value is from: "default", "lockkeeper.yaml:12",
  // "environment LOCKKEEPERD_STORE_REDIS" or "flag --listen".
  std::map<std::string, std::string, std::less<>> origins;
  // Why the password file cannot be read. Empty: it was, or there is none.
  std::string password_problem;
};

// Reads all sources and checks each value by itself.
// Errors: INVALID_FIELD, one line per problem.
absl::StatusOr<LoadedConfig> ReadConfig(const ConfigSources& sources);

// Checks what the values mean together: that a store is named, that nobody outside can reach an
// insecure port, and the like.
// Errors: INVALID_FIELD, one line per problem.
absl::Status CheckConfig(const LoadedConfig& loaded);

// As YAML that can be loaded again, each value with its origin. Secrets are masked.
std::string PrintConfig(const LoadedConfig& loaded);

// The environment of this process, of the form of the third argument of main.
Environment EnvironmentOf(const char* const* variables);

}  // namespace lockkeeper::config
