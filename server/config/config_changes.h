// SPDX-License-Identifier: Apache-2.0
//
// What differs between the configuration that a daemon runs with and one that was read later.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"

namespace lockkeeper::config {

// A setting that takes effect while the daemon runs. It is never a secret.
struct SettingChange {
  std::string_view key;
  std::string before;  // As --print-config shows them; a list with commas.
  std::string after;
};

struct ConfigChanges {
  std::vector<SettingChange> reloadable;
  // Keys of all others that differ, in the order of the settings. A password file is among them
  // if it holds another password.
  std::vector<std::string_view> need_restart;
};

ConfigChanges Compare(const Config& in_use, const Config& next);

// `in_use` with the reloadable settings of `next`.
Config WithReloadable(Config in_use, const Config& next);

// The reloadable settings of `config`, keys and values. None is a secret.
std::vector<std::pair<std::string, std::string>> ShowReloadable(const Config& config);

}  // namespace lockkeeper::config
