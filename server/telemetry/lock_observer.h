// SPDX-License-Identifier: Apache-2.0
//
// Turns the events of the domain into log records and metrics.
#pragma once

#include "core/lock_observer.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::telemetry {

// Thread-safety: loop-thread only. Lifetime: borrows `metrics`.
class TelemetryLockObserver : public core::LockObserver {
 public:
  // `slow_wait`: a lock that was granted after a longer wait is reported.
  TelemetryLockObserver(Logger logger, Metrics& metrics, core::Millis slow_wait);

  void SetSlowWait(core::Millis slow_wait) { slow_wait_ = slow_wait; }

  void OnWithdrawalEnded(std::string_view lock_name, core::WithdrawalEnd end) override;
  void OnWaitBegan(const core::AcquireRequest& request, int32_t position) override;
  void OnWaitEnded(std::string_view lock_name, const core::Keeper& keeper, core::WaitEnd end,
                   core::Micros waited) override;
  void OnReleased(core::Micros held) override;
  void OnExpiredLeaseReplaced(std::string_view lock_name, core::FencingToken token) override;

 private:
  const Logger logger_;
  Metrics& metrics_;
  core::Millis slow_wait_;
  LogLimit slow_wait_limit_;
  LogLimit left_to_ttl_limit_;
  LogLimit expired_limit_;
};

}  // namespace lockkeeper::telemetry
