// SPDX-License-Identifier: Apache-2.0
//
// The configuration file, and then variables of the environment: NAME=VALUE, each after a byte 0.
#include <string>

#include "config/config_file.h"
#include "config/config_loader.h"
#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockkeeper;
  std::string_view rest = fuzz::TextOf(data, size);
  config::Config config;
  config::FileContents file = config::ParseConfigText(fuzz::TakeField(rest), "fuzz.yaml");
  for (const config::FileValue& value : file.values) {
    fuzz::Require(value.line > 0, "a value is on a line");
    config::Assign(*value.setting, value.value, config);
  }

  config::ConfigSources sources;
  while (!rest.empty() && sources.environment.size() < 4) {
    std::string_view variable = fuzz::TakeField(rest);
    const std::string name = "LOCKKEEPERD_" + std::string(fuzz::TakeField(variable, '='));
    if (name.find("FILE") != std::string::npos) continue;  // Would be read.
    sources.environment.emplace_back(name, variable);
  }
  const auto loaded = config::ReadConfig(sources);
  if (loaded.ok()) {
    config::PrintConfig(*loaded);
    (void)config::CheckConfig(*loaded);
  }
  return 0;
}
