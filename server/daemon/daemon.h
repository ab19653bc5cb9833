// SPDX-License-Identifier: Apache-2.0
//
// The one composition root: builds every part of the daemon, starts, drains and stops it.
//
// Start    telemetry, embedded store, the loop with the locks (connects to the store), HTTP, gRPC.
// A
//          store that is away does not stop the start: the daemon serves NOT_SERVING until then.
// Drain    1. health says NOT_SERVING and acquires answer SERVER_DRAINING; all else goes on
//          2. what was in flight ends
//          3. gRPC takes no more calls, and ends those in flight
//          4. withdrawals end: grants of which no caller heard
//          Clients keep their locks: nothing is released because a daemon stops.
// Stop     in the reverse order of the start.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "telemetry/log.h"

namespace lockkeeper {

// Thread-safety: thread-compatible.
class Daemon {
 public:
  // Lifetime: borrows `log`.
  // Errors, each with a text for people that names what to change: INVALID_ARGUMENT (the
  // configuration), UNAVAILABLE (an address is taken, the store refused or cannot be started).
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const config::Config& config,
                                                       telemetry::Log& log);

  // Stops at once, cancelling what is in flight.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Where it listens: "grpc=127.0.0.1:7600,unix:/run/lk http=127.0.0.1:7601". Without HTTP its part
  // is missing.
  std::string Addresses() const;

  enum class DrainEnd { kDrained, kTimedOut };

  // Waits until the drain has ended, at most about drain.timeout.
  DrainEnd Drain();

 private:
  struct Parts;
  explicit Daemon(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace lockkeeper
