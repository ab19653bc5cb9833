// SPDX-License-Identifier: Apache-2.0
#include "daemon/config_reload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "daemon/access_rules.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::daemon {

namespace field = telemetry::field;

namespace {

core::WallTime Now() { return {absl::ToUnixMicros(WallTimeNow())}; }

std::string InOneLine(const absl::Status& problems) {
  return absl::StrReplaceAll(problems.message(), {{"\n", "; "}});
}

}  // namespace

ConfigReload::ConfigReload(config::ConfigSources sources, const config::LoadedConfig& loaded,
                           Apply apply, telemetry::Logger logger, telemetry::Gauge need_restart)
    : sources_(std::move(sources)),
      apply_(std::move(apply)),
      logger_(logger),
      need_restart_(need_restart),
      in_use_(loaded.config),
      in_use_text_(loaded.file_text),
      last_text_(loaded.file_text),
      state_{.path = sources_.file,
             .read = Now(),
             .reloadable = config::ShowReloadable(loaded.config)} {}

os::WatchedFiles::Read ConfigReload::Reader() {
  return [this](os::Contents& contents) { return Read(contents); };
}

os::WatchedFiles::Take ConfigReload::Taker() {
  return [this](const os::Contents& contents) { return Take(contents.front()); };
}

rpc::ConfigFileState ConfigReload::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

text::Problem ConfigReload::Read(os::Contents& contents) {
  text::Problem problem =
      os::ReadTogether({.files = {{.name = "--config", .path = sources_.file}}}, contents);
  // Somebody is about to write it in place: it would set everything to the defaults for a moment.
  if (!problem && contents.front().empty() && !in_use_text_.empty()) {
    problem = "--config: \"" + sources_.file + "\" is empty";
  }
  // Otherwise Take() finds out.
  if (problem || contents.front() == in_use_text_) Note(problem);
  if (!problem && std::exchange(last_text_, contents.front()) != contents.front()) {
    const std::lock_guard lock(mutex_);
    state_.read = Now();
  }
  return problem;
}

text::Problem ConfigReload::Take(const std::string& text) {
  sources_.file_text = text;
  const absl::StatusOr<config::LoadedConfig> next = config::ReadConfig(sources_);
  const absl::Status status = next.ok() ? config::CheckConfig(*next) : next.status();
  if (!status.ok()) {
    text::Problem problem = InOneLine(status);
    Note(problem);
    return problem;
  }
  const config::ConfigChanges changes = config::Compare(in_use_, next->config);
  config::Config now = config::WithReloadable(in_use_, next->config);
  // With the more verbose of the two levels.
  const bool tell_first = now.log.level > in_use_.log.level;
  if (tell_first) TellChanges(changes, now);
  if (!changes.reloadable.empty()) apply_(now);
  if (!tell_first) TellChanges(changes, now);
  in_use_ = std::move(now);
  in_use_text_ = text;
  Note(std::nullopt);
  return std::nullopt;
}

void ConfigReload::TellChanges(const config::ConfigChanges& changes, const config::Config& now) {
  for (const config::SettingChange& change : changes.reloadable) {
    logger_.Info(
        "config.changed", "A setting was changed while the daemon runs",
        {field::Setting(change.key), field::Before(change.before), field::After(change.after)});
  }
  std::vector<std::string> need_restart(changes.need_restart.begin(), changes.need_restart.end());
  need_restart_.Set(static_cast<double>(need_restart.size()));
  std::vector<std::string> told;
  {
    const std::lock_guard lock(mutex_);
    told = std::exchange(state_.need_restart, need_restart);
    state_.reloadable = config::ShowReloadable(now);
  }
  std::erase_if(need_restart, [&](const std::string& key) {
    return std::find(told.begin(), told.end(), key) != told.end();
  });
  if (need_restart.empty()) return;
  logger_.Warn("config.needs_restart",
               "The configuration file has other values for settings that are read at the start "
               "only",
               {field::Settings(absl::StrJoin(need_restart, ", "))});
}

void ConfigReload::Note(const text::Problem& problem) {
  const std::lock_guard lock(mutex_);
  state_.problem = problem.value_or("");
}

}  // namespace lockkeeper::daemon
