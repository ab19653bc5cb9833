// SPDX-License-Identifier: Apache-2.0
//
// The one way in. Every call enters here, so that a server that ends knows when the last one has
// left; and every operation, of a call or of a session, is admitted here or rejected.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "absl/status/status.h"
#include "core/types.h"
#include "core/validation.h"
#include "rpc/caller.h"
#include "rpc/operation.h"
#include "telemetry/log.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Lifetime: borrows the logger's log.
class Gate {
 public:
  // `daemon_id` is new at each start of a daemon.
  Gate(const core::ConfiguredLimits& limits, telemetry::Logger logger, uint64_t daemon_id)
      : limits_(limits), logger_(logger), daemon_id_(daemon_id) {}

  // Counts a call. One Leave() follows, whatever the answer.
  Arrival Enter();
  void Leave();

  // Calls that have entered and not left. gRPC does not count them: it waits for connections, and
  // an idle client may keep one open for seconds.
  int64_t calls() const { return calls_; }

  // Calls that come from now on are late. Waits until all have left, at most `limit`, and answers
  // how many have not.
  int64_t Close(core::Millis limit);

  // Whether `operation` may be carried out. If so it gets the principal of its caller, and an
  // acquire a keeper that no other has. A ForceRelease that is rejected is audited.
  // Errors: SERVER_DRAINING, INVALID_FIELD.
  absl::Status Admit(Caller& caller, Operation& operation);

  // The keeper of a lease that a session adopts; given to no other.
  core::Keeper NewHolder() { return core::Keeper::OfHolder(daemon_id_ + NewNumber()); }

 private:
  absl::Status Check(const Caller& caller, const Operation& operation) const;
  uint64_t NewNumber() { return next_keeper_.fetch_add(1, std::memory_order_relaxed); }

  const core::ConfiguredLimits limits_;
  const telemetry::Logger logger_;
  const uint64_t daemon_id_;
  std::atomic<uint64_t> next_keeper_{1};
  std::atomic<int64_t> calls_{0};
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::condition_variable empty_;
};

// SERVER_DRAINING.
absl::Status Draining();

}  // namespace lockkeeper::rpc
