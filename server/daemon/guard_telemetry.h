// SPDX-License-Identifier: Apache-2.0
//
// Log records of what the guard of a store notices.
#pragma once

#include <cstddef>

#include "redis/guard_observer.h"
#include "telemetry/log.h"

namespace lockkeeper::daemon {

// Thread-safety: as GuardObserver.
class GuardTelemetry final : public redis::GuardObserver {
 public:
  GuardTelemetry(size_t shard, telemetry::Logger logger) : shard_(shard), logger_(logger) {}

  void OnFirstUse(const redis::StoreTrust& trust) override;
  void OnLoss(redis::LossKind kind, const redis::StoreTrust& trust) override;
  void OnNewEpoch(const redis::StoreTrust& trust) override;
  void OnTrustChanged(const redis::StoreTrust& trust) override;

 private:
  const size_t shard_;
  const telemetry::Logger logger_;
  bool grants_ = true;  // As the log has it.
};

}  // namespace lockkeeper::daemon
