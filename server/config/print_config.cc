// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include "config/config_loader.h"
#include "config/settings.h"

namespace lockkeeper::config {
namespace {

// Texts are quoted, so that YAML does not read them as something else. Numbers and words need no
// quotes.
bool IsText(const Setting& setting) {
  return setting.is_secret() || std::holds_alternative<FieldOf<std::string>>(setting.field);
}

void PrintValue(const Setting& setting, const Config& config, YAML::Emitter& out) {
  const RawValue value = Show(setting, config);
  if (setting.is_list()) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const std::string& text : value.texts) out << YAML::DoubleQuoted << text;
    out << YAML::EndSeq;
  } else if (IsText(setting)) {
    out << YAML::DoubleQuoted << value.texts.at(0);
  } else {
    out << value.texts.at(0);
  }
}

}  // namespace

std::string PrintConfig(const LoadedConfig& loaded) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::string_view section;
  for (const Setting& setting : Settings()) {
    if (setting.section() != section) {
      if (!section.empty()) out << YAML::EndMap;
      section = setting.section();
      out << YAML::Key << std::string(section) << YAML::Value << YAML::BeginMap;
    }
    out << YAML::Key << std::string(setting.name()) << YAML::Value;
    PrintValue(setting, loaded.config, out);
    out << YAML::Comment(loaded.origins.find(setting.key)->second);
  }
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace lockkeeper::config
