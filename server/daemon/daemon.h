// SPDX-License-Identifier: Apache-2.0
//
// The composition root: builds every part of the daemon, starts, drains and stops it.
//
// Start    telemetry, audit trail, traces, certificates, access rules, embedded store, the loop
//          with the locks (connects to the store), HTTP, gRPC; then the watch for changed files.
//          If the store is away, the daemon starts all the same, and is NOT_SERVING until then.
// Drain    1. health says NOT_SERVING, acquires answer SERVER_DRAINING; everything else goes on
//          2. the operations in flight end
//          3. gRPC accepts no more calls, and ends those in flight
//          4. the withdrawals end: grants whose callers are gone
//          Clients keep their locks: a daemon that stops releases nothing.
// Stop     in the reverse order of the start.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config_loader.h"
#include "telemetry/log.h"

namespace lockkeeper {

// Thread-safety: thread-compatible.
class Daemon {
 public:
  // `loaded`: what was read from `sources`, whose file is read again when it changes.
  // `on_asked_to_stop`: an administrator asks the daemon to drain and end, see Drain(). Called once
  // at most, on any thread, and must not block. Lifetime: borrows `log`.
  // Errors, each with a text for people that says what to change: INVALID_ARGUMENT (the
  // configuration), UNAVAILABLE (an address is in use, the store is refused or cannot be started).
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const config::ConfigSources& sources,
                                                       const config::LoadedConfig& loaded,
                                                       telemetry::Log& log,
                                                       std::function<void()> on_asked_to_stop);

  // Stops at once, and cancels the calls in flight.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Where it listens: "grpc=127.0.0.1:7600,unix:/run/lk http=127.0.0.1:7601". The part of HTTP is
  // missing if there is none.
  std::string Addresses() const;

  // Calls `beat` once each `period` from the thread that everything which happens to locks runs on,
  // until the daemon is destroyed. `beat` must not block. Call it once at most.
  void StartBeat(std::chrono::microseconds period, std::function<void()> beat);

  // What SIGHUP asks for: opens the file of the audit trail again, and looks at once at the files
  // that are read again when they change.
  void Hangup();

  enum class DrainEnd { kDrained, kTimedOut };

  // Drains, and waits until the drain has ended, at most about drain.timeout.
  DrainEnd Drain();

 private:
  struct Parts;
  explicit Daemon(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace lockkeeper
