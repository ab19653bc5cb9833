// SPDX-License-Identifier: Apache-2.0
//
// The rulebook that counts now.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/time/time.h"
#include "access/rulebook.h"

namespace lockkeeper::access {

// Thread-safety: thread-safe.
class AccessControl {
 public:
  // `wall_clock` decides whether a token or JWT has expired; thread-safe.
  AccessControl(std::shared_ptr<const Rulebook> rulebook, std::function<absl::Time()> wall_clock)
      : wall_clock_(std::move(wall_clock)), current_(std::move(rulebook)) {}

  absl::Time Now() const { return wall_clock_(); }

  std::shared_ptr<const Rulebook> Current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // From now on `rulebook` counts. Callers that were identified by the old one are identified anew
  // with their next operation.
  void Replace(std::shared_ptr<const Rulebook> rulebook) {
    const std::lock_guard lock(mutex_);
    current_ = std::move(rulebook);
    generation_.fetch_add(1, std::memory_order_release);
  }

  // Rises with each Replace(). Read it before Current().
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  const std::function<absl::Time()> wall_clock_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Rulebook> current_;
  std::atomic<uint64_t> generation_{1};
};

}  // namespace lockkeeper::access
