// SPDX-License-Identifier: Apache-2.0
//
// What the services depend on. The daemon fills it in; see server.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "access/access_control.h"
#include "audit/trail.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/lock_manager.h"
#include "core/lock_store.h"
#include "core/lock_watches.h"
#include "core/types.h"
#include "core/wall_time.h"
#include "rpc/current_limits.h"
#include "telemetry/contended_locks.h"
#include "telemetry/health_board.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/tracer.h"

namespace lockkeeper::rpc {

// The constant part of the answer to GetServerInfo.
struct ServerFacts {
  std::string version;
  uint64_t daemon_id = 0;  // Random, new at each start.
  core::WallTime started;
  std::string store_kind;     // "redis" or "embedded"
  std::string store_address;  // Without credentials.
  core::Millis record_retention{};
  core::Instant started_at;  // `started` by the clock of ServiceDeps.
  std::string http_address;  // Empty: none.
  std::vector<std::pair<std::string, std::string>> store_settings;  // Key and value.
};

// A certificate that this daemon shows.
struct CertificateEnd {
  std::string name;     // "server" or "redis"
  int64_t seconds = 0;  // When it expires, Unix time.
};

// Files that have changed and cannot be used.
struct RefusedFiles {
  std::string files;    // As in the log: "access".
  std::string problem;  // For people.
};

// What only the daemon knows. Thread-safety: thread-safe.
class DaemonView {
 public:
  virtual ~DaemonView() = default;
  virtual std::vector<CertificateEnd> Certificates() const = 0;
  virtual std::vector<RefusedFiles> Refused() const = 0;
};

// What became of the configuration file when it was read last.
struct ConfigFileState {
  std::string path;
  core::WallTime read;                    // At the start, or when it was found changed last.
  std::string problem;                    // Why it is not in use. Empty if it is.
  std::vector<std::string> need_restart;  // Keys whose values in the file are not in use.
  // Keys and values in use of those that change while the daemon runs.
  std::vector<std::pair<std::string, std::string>> reloadable;
};

// Lifetime: everything that is borrowed here outlives the server.
struct ServiceDeps {
  core::Executor& loop;
  core::LockManager& locks;  // Of the loop's thread, as the next three: post to it first.
  core::AdminStore& admin;
  core::LockWatches& watches;
  telemetry::ContendedLocks& contended;
  const core::Clock& clock;  // Thread-safe.
  const access::AccessControl& access;
  const CurrentLimits& limits;  // Thread-safe.
  telemetry::HealthBoard& health;
  telemetry::Metrics& metrics;
  telemetry::Logger logger;
  ServerFacts facts;
  std::function<ConfigFileState()> config_file;  // Thread-safe. Null without a file.
  const DaemonView& daemon;
  // Lets the daemon drain and end soon; returns at once. Thread-safe.
  std::function<void()> ask_to_stop = [] {};
  audit::Trail* audit = nullptr;       // Null: no audit trail is kept. Thread-safe.
  tracing::Tracer* tracer = nullptr;   // Null: nothing is traced. Thread-safe.
  bool reflection = true;              // Whether clients may ask for the protos.
  core::Millis drain_timeout{20'000};  // What clients are told when the daemon stops.
  // Age from which a connection gets no new calls, and sessions are asked to move. 0: none.
  core::Millis max_connection_age{0};
};

}  // namespace lockkeeper::rpc
