// SPDX-License-Identifier: Apache-2.0
#include "config/config_changes.h"

#include <type_traits>
#include <variant>

#include "absl/strings/str_join.h"
#include "config/settings.h"

namespace lockkeeper::config {
namespace {

bool IsEqual(const text::Secret& a, const text::Secret& b) { return a.reveal() == b.reveal(); }
template <typename T>
bool IsEqual(const T& a, const T& b) {
  return a == b;
}

bool Differs(const Setting& setting, const Config& a, const Config& b) {
  return std::visit([&](const auto& field) { return !IsEqual(field.read(a), field.read(b)); },
                    setting.field);
}

std::string Shown(const Setting& setting, const Config& config) {
  return absl::StrJoin(Show(setting, config).texts, ", ");
}

}  // namespace

ConfigChanges Compare(const Config& in_use, const Config& next) {
  ConfigChanges changes;
  for (const Setting& setting : Settings()) {
    if (!Differs(setting, in_use, next)) continue;
    if (setting.reloadable) {
      changes.reloadable.push_back({setting.key, Shown(setting, in_use), Shown(setting, next)});
    } else {
      changes.need_restart.push_back(setting.key);
    }
  }
  return changes;
}

std::vector<std::pair<std::string, std::string>> ShowReloadable(const Config& config) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const Setting& setting : Settings()) {
    if (setting.reloadable) shown.emplace_back(setting.key, Shown(setting, config));
  }
  return shown;
}

Config WithReloadable(Config in_use, const Config& next) {
  for (const Setting& setting : Settings()) {
    if (!setting.reloadable) continue;
    std::visit([&](const auto& field) { field.edit(in_use) = field.read(next); }, setting.field);
  }
  return in_use;
}

}  // namespace lockkeeper::config
