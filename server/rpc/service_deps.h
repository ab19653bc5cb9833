// SPDX-License-Identifier: Apache-2.0
//
// What the services stand on. The daemon makes it; see server.h.
#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"
#include "core/executor.h"
#include "core/lock_manager.h"
#include "core/lock_store.h"
#include "core/types.h"
#include "core/validation.h"
#include "core/wall_time.h"
#include "telemetry/health_board.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {

// What GetServerInfo tells and never changes.
struct ServerFacts {
  std::string version;
  uint64_t daemon_id = 0;  // Random, new at each start.
  core::WallTime started;
  std::string store_kind;     // "redis" or "embedded"
  std::string store_address;  // Without credentials.
  core::Millis record_retention{};
};

// Lifetime: everything that is borrowed here outlives the server.
struct ServiceDeps {
  core::Executor& loop;
  core::LockManager& locks;  // Of the loop's thread, as the next: post to it first.
  core::AdminStore& admin;
  const core::Clock& clock;  // Thread-safe.
  core::ConfiguredLimits limits;
  telemetry::HealthBoard& health;
  telemetry::Metrics& metrics;
  telemetry::Logger logger;
  ServerFacts facts;
  core::Millis drain_timeout{20'000};  // What clients are told when the daemon stops.
};

}  // namespace lockkeeper::rpc
