// SPDX-License-Identifier: Apache-2.0
//
// The configuration file, read again while the daemon runs. Environment and flags are those of the
// start, and still win.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "config/config_changes.h"
#include "config/config_loader.h"
#include "os/file_watch.h"
#include "rpc/service_deps.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "text/problem.h"

namespace lockkeeper::daemon {

// Thread-safety: state() is thread-safe, all else is of the thread of the watch. Lifetime: borrows
// the logger's log and the metrics.
class ConfigReload {
 public:
  // Takes the reloadable settings of a configuration into use.
  using Apply = std::function<void(const config::Config&)>;

  // `loaded`: what was read from `sources` at the start.
  ConfigReload(config::ConfigSources sources, const config::LoadedConfig& loaded, Apply apply,
               telemetry::Logger logger, telemetry::Gauge need_restart);

  // For the watch: what was read, how it is read again, and how it is taken into use. Lifetime: the
  // results borrow this object.
  os::Contents contents() const { return {in_use_text_}; }
  os::WatchedFiles::Read Reader();
  os::WatchedFiles::Take Taker();

  rpc::ConfigFileState state() const;

 private:
  text::Problem Read(os::Contents& contents);
  text::Problem Take(const std::string& text);
  void TellChanges(const config::ConfigChanges& changes, const config::Config& now);
  void Note(const text::Problem& problem);

  config::ConfigSources sources_;
  const Apply apply_;
  const telemetry::Logger logger_;
  const telemetry::Gauge need_restart_;
  config::Config in_use_;
  std::string in_use_text_;  // Of the file.
  std::string last_text_;    // That was read last, whether it could be used or not.
  mutable std::mutex mutex_;
  rpc::ConfigFileState state_;  // Guarded by mutex_.
};

}  // namespace lockkeeper::daemon
