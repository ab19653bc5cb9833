// SPDX-License-Identifier: Apache-2.0
//
// Merges the sources of the configuration: defaults < file < environment < flags. Rejects
// everything that is unknown, given twice, malformed or out of range, and reports all problems at
// once, each with its file and line, variable or flag.
#pragma once

#include <functional>
#include <map>
#include <optional>
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
  // What the file holds, if it was read already. Else it is read.
  std::optional<std::string> file_text;
  Environment environment;
  std::vector<FlagValue> flags;
  User user = User::kOther;
};

struct LoadedConfig {
  Config config;
  std::string file_text;  // What was read of the file.
  // The origin of each value, by key: "default", "lockkeeper.yaml:12", "environment
  // LOCKKEEPERD_STORE_REDIS" or "flag --listen".
  std::map<std::string, std::string, std::less<>> origins;
  // Why a password file cannot be read, by the key of its setting.
  std::map<std::string, std::string, std::less<>> password_problems;
};

// Reads all sources and checks each value on its own. Errors: INVALID_FIELD, one line per problem.
absl::StatusOr<LoadedConfig> ReadConfig(const ConfigSources& sources);

// Checks whether the values fit together: a store is named, nobody outside can reach an insecure
// port, and so on. Errors: INVALID_FIELD, one line per problem.
absl::Status CheckConfig(const LoadedConfig& loaded);

// As YAML that can be loaded again, each value with its origin. Secrets are masked.
std::string PrintConfig(const LoadedConfig& loaded);

// The environment of this process, from the third argument of main.
Environment EnvironmentOf(const char* const* variables);

}  // namespace lockkeeper::config
