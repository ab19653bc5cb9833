// SPDX-License-Identifier: Apache-2.0
#include "config/config_loader.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/config_file.h"
#include "config/settings.h"
#include "core/errors.h"
#include "os/read_file.h"

namespace lockkeeper::config {
namespace {

constexpr std::string_view kPrefix = "LOCKKEEPERD_";

RawValue RawFromText(const Setting& setting, const std::string& text) {
  if (!setting.is_list()) return {.shape = RawValue::Shape::kText, .texts = {text}};
  RawValue value{.shape = RawValue::Shape::kList, .texts = {}};
  if (text.empty()) return value;
  for (const auto part : absl::StrSplit(text, ',')) {
    value.texts.emplace_back(absl::StripAsciiWhitespace(part));
  }
  return value;
}

RawValue RawFromFlag(const Setting& setting, const FlagValue& flag) {
  if (setting.is_list()) return {.shape = RawValue::Shape::kList, .texts = flag.values};
  return {.shape = flag.values.size() == 1 ? RawValue::Shape::kText : RawValue::Shape::kList,
          .texts = flag.values};
}

// Kubernetes sets variables in each pod that are made from the names of Services.
std::string HintAtServiceLinks(std::string_view variable) {
  const std::string_view name = variable.substr(kPrefix.size());
  if (!name.starts_with("SERVICE_") && !name.starts_with("PORT")) return "";
  return "; Kubernetes sets it for a Service called lockkeeperd: call that otherwise, or set "
         "enableServiceLinks: false";
}

std::string DefaultDataDir(const ConfigSources& sources) {
  if (sources.user == User::kRoot) return "/var/lib/lockkeeper";
  const auto value_of = [&sources](std::string_view name) -> std::string {
    for (const auto& [variable, value] : sources.environment) {
      // A relative path would depend on where the daemon was started.
      if (variable == name && value.starts_with('/')) return value;
    }
    return "";
  };
  if (const std::string state = value_of("XDG_STATE_HOME"); !state.empty()) {
    return state + "/lockkeeper";
  }
  const std::string home = value_of("HOME");
  return home.empty() ? "" : home + "/.local/state/lockkeeper";
}

class Loader {
 public:
  explicit Loader(const ConfigSources& sources) : sources_(sources) {
    for (const Setting& setting : Settings()) {
      loaded_.origins.emplace(setting.key, "default");
    }
  }

  absl::StatusOr<LoadedConfig> Load() {
    if (!sources_.file.empty()) ApplyFile();
    ApplyEnvironment();
    ApplyFlags();
    CheckPasswords();
    StoreConfig& store = loaded_.config.store;
    if (store.data_dir.empty()) store.data_dir = DefaultDataDir(sources_);
    if (problems_.empty()) return std::move(loaded_);
    return core::Error(core::ErrorReason::kInvalidField, absl::StrJoin(problems_, "\n"));
  }

 private:
  void Apply(const Setting& setting, const RawValue& value, const std::string& origin) {
    if (const text::Problem problem = Assign(setting, value, loaded_.config)) {
      problems_.push_back(origin + ": " + std::string(setting.key) + ": " + *problem);
    }
    // Even if the value is malformed, so that later problems name the same origin.
    loaded_.origins.find(setting.key)->second = origin;
  }

  void ApplyFile() {
    FileContents contents = sources_.file_text ? ParseConfigText(*sources_.file_text, sources_.file)
                                               : ReadConfigFile(sources_.file);
    loaded_.file_text = contents.text;
    problems_ = std::move(contents.problems);
    for (const FileValue& value : contents.values) {
      Apply(*value.setting, value.value, sources_.file + ":" + std::to_string(value.line));
    }
  }

  void ApplyEnvironment() {
    std::map<std::string_view, std::string> variable_of;  // By key.
    for (const auto& [variable, text] : sources_.environment) {
      if (!variable.starts_with(kPrefix)) continue;
      const std::string origin = "environment " + variable;
      const Setting* setting = FindByEnvironment(variable);
      if (setting == nullptr) {
        const std::string hint = HintAtServiceLinks(variable);
        problems_.push_back(origin + ": unknown variable" +
                            (hint.empty() ? SuggestVariable(variable) : hint));
        continue;
      }
      const auto [first, is_new] = variable_of.emplace(setting->key, variable);
      if (!is_new) {
        problems_.push_back(origin + ": " + std::string(setting->key) + ": given twice, first by " +
                            first->second);
        continue;
      }
      Apply(*setting, RawFromText(*setting, text), origin);
    }
  }

  void ApplyFlags() {
    for (const FlagValue& flag : sources_.flags) {
      const std::string origin = "flag " + flag.flag;
      if (const Setting* setting = FindByFlag(flag.flag)) {
        Apply(*setting, RawFromFlag(*setting, flag), origin);
      } else {
        problems_.push_back(origin + ": unknown");
      }
    }
  }

  // Only to find out whether they can be used: whoever needs a password reads its file.
  void CheckPasswords() {
    const StoreConfig& store = loaded_.config.store;
    CheckPassword("store.redis_password_file", store.redis_password_file);
    CheckPassword("store.sentinel_password_file", store.sentinel_password_file);
  }

  void CheckPassword(const std::string& key, const std::string& file) {
    if (file.empty()) return;
    std::string password;
    std::error_code ignored;
    // A pipe could be read once only, and would not end.
    const bool is_other =
        std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored);
    const text::Problem problem =
        is_other ? "has to be a regular file, since it is read again when it changes"
                 : os::ReadPasswordFile(file, password);
    if (problem) loaded_.password_problems[key] = text::Quoted(file) + " " + *problem;
  }

  const ConfigSources& sources_;
  LoadedConfig loaded_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<LoadedConfig> ReadConfig(const ConfigSources& sources) {
  return Loader(sources).Load();
}

Environment EnvironmentOf(const char* const* variables) {
  Environment environment;
  for (; *variables != nullptr; ++variables) {
    const std::string_view entry = *variables;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

}  // namespace lockkeeper::config
