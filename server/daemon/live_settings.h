// SPDX-License-Identifier: Apache-2.0
//
// The settings that take effect while the daemon runs, and the way to the parts that use them: the
// rpc threads read the limits, the loop's thread has all else. Every other setting is read once, at
// the start.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/config.h"
#include "core/types.h"
#include "daemon/lock_loop.h"
#include "rpc/current_limits.h"
#include "telemetry/lock_observer.h"
#include "telemetry/log.h"

namespace lockkeeper::daemon {

telemetry::LogLevel LogLevelOf(config::LogLevel level);

// What lives on the loop.
struct LoopSettings {
  core::Millis longest_lease{};  // With its lock_delay.
  int32_t waiters_per_lock_max = 0;
  size_t waiters_per_principal_max = 0;
  core::Millis slow_wait{};
};
LoopSettings LoopSettingsOf(const config::Config& config);

// Thread-safety: thread-safe, but Apply() by one thread, which is not the loop's. Lifetime: borrows
// its collaborators.
class LiveSettings {
 public:
  LiveSettings(const config::Config& config, telemetry::Log& log);

  // Of the rpc threads.
  const rpc::CurrentLimits& limits() const { return limits_; }

  // Takes the reloadable settings of `config` into use. The guard of the store hears of a longer
  // ttl before a client may ask for it, and nobody forgets a longer ttl that was allowed before:
  // leases may run that have it.
  void Apply(const config::Config& config, LockLoop& locks,
             telemetry::TelemetryLockObserver& observer);

 private:
  telemetry::Log& log_;
  rpc::CurrentLimits limits_;
};

}  // namespace lockkeeper::daemon
