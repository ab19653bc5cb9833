// SPDX-License-Identifier: Apache-2.0
//
// The configured limits that count now. They may be replaced while the daemon runs.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "core/configured_limits.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe.
class CurrentLimits {
 public:
  explicit CurrentLimits(core::ConfiguredLimits limits)
      : current_(std::make_shared<const core::ConfiguredLimits>(std::move(limits))) {}

  // Never null, and never changed. Ask once for each operation, so that it is read and checked by
  // the same limits.
  std::shared_ptr<const core::ConfiguredLimits> Current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // Operations that come from now on are checked against `limits`.
  void Replace(core::ConfiguredLimits limits) {
    auto next = std::make_shared<const core::ConfiguredLimits>(std::move(limits));
    const std::lock_guard lock(mutex_);
    current_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const core::ConfiguredLimits> current_;
};

}  // namespace lockkeeper::rpc
