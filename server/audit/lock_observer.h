// SPDX-License-Identifier: Apache-2.0
//
// The events of the domain that nobody asked for, as records of the audit trail, besides log and
// metrics.
#pragma once

#include "audit/trail.h"
#include "telemetry/lock_observer.h"

namespace lockkeeper::audit {

// Thread-safety: loop-thread only. Lifetime: borrows `metrics` and `trail`.
class AuditedLockObserver final : public telemetry::TelemetryLockObserver {
 public:
  AuditedLockObserver(telemetry::Logger logger, telemetry::Metrics& metrics, core::Millis slow_wait,
                      Trail& trail)
      : TelemetryLockObserver(logger, metrics, slow_wait), trail_(trail) {}

  void OnWithdrawalEnded(std::string_view lock_name, core::WithdrawalEnd end) override;
  void OnExpiredLeaseReplaced(std::string_view lock_name, core::FencingToken token) override;

 private:
  Trail& trail_;
};

}  // namespace lockkeeper::audit
