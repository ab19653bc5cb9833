// SPDX-License-Identifier: Apache-2.0
#include "daemon/live_settings.h"

#include "config/lock_limits.h"
#include "core/limits.h"

namespace lockkeeper::daemon {

telemetry::LogLevel LogLevelOf(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::kDebug:
      return telemetry::LogLevel::kDebug;
    case config::LogLevel::kInfo:
      return telemetry::LogLevel::kInfo;
    case config::LogLevel::kWarn:
      return telemetry::LogLevel::kWarn;
    case config::LogLevel::kError:
      return telemetry::LogLevel::kError;
  }
  return telemetry::LogLevel::kInfo;
}

LoopSettings LoopSettingsOf(const config::Config& config) {
  return {.longest_lease = config::LimitsOf(config).LongestTtl() + core::limits::kLockDelayMax,
          .waiters_per_lock_max = config.waiters.per_lock_max,
          .waiters_per_principal_max = static_cast<size_t>(config.waiters.per_principal_max),
          .slow_wait = config.waiters.slow_wait};
}

LiveSettings::LiveSettings(const config::Config& config, telemetry::Log& log)
    : log_(log), limits_(config::LimitsOf(config)) {}

void LiveSettings::Apply(const config::Config& config, LockLoop& locks,
                         telemetry::TelemetryLockObserver& observer) {
  locks.loop().RunAndWait([&, settings = LoopSettingsOf(config)] {
    locks.store().CoverLeases(settings.longest_lease);
    locks.store().SetWaitersPerLockMax(settings.waiters_per_lock_max);
    locks.locks().SetWaitersPerPrincipalMax(settings.waiters_per_principal_max);
    observer.SetSlowWait(settings.slow_wait);
  });
  limits_.Replace(config::LimitsOf(config));
  log_.SetLevel(LogLevelOf(config.log.level));
}

}  // namespace lockkeeper::daemon
