// SPDX-License-Identifier: Apache-2.0
//
// The open sessions: tells each that the daemon is about to stop, and sums up what they keep in
// memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "core/types.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {

// Thread-safety: called by the registry, on the thread that starts the draining.
class DrainListener {
 public:
  virtual ~DrainListener() = default;

  // The daemon ends in `remaining`. It must not call the registry.
  virtual void OnDraining(core::Millis remaining) = 0;
};

// Thread-safety: thread-safe.
class SessionRegistry {
 public:
  // `count` says how many there are.
  explicit SessionRegistry(telemetry::Gauge count) : count_(count) {}

  // False if the daemon is stopping already: the session is not added then.
  bool Add(DrainListener& session) {
    const std::lock_guard lock(mutex_);
    if (!draining_) sessions_.insert(&session);
    count_.Set(static_cast<double>(sessions_.size()));
    return !draining_;
  }

  // Does nothing if the session is not registered. Afterwards it is not called any more.
  void Remove(DrainListener& session) {
    const std::lock_guard lock(mutex_);
    sessions_.erase(&session);
    count_.Set(static_cast<double>(sessions_.size()));
  }

  // One session keeps `change` more operations and answers than before (see SessionOutbox). Returns
  // the sum over all sessions.
  int64_t AddKept(int64_t change) { return change == 0 ? kept_.load() : kept_ += change; }

  // Tells all sessions, once.
  void StartDraining(core::Millis remaining) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(draining_, true)) return;
    for (DrainListener* session : sessions_) session->OnDraining(remaining);
  }

 private:
  const telemetry::Gauge count_;
  std::mutex mutex_;
  std::unordered_set<DrainListener*> sessions_;
  std::atomic<int64_t> kept_ = 0;
  bool draining_ = false;
};

}  // namespace lockkeeper::rpc
