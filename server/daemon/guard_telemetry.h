// SPDX-License-Identifier: Apache-2.0
//
// Turns the events of the guard into log records, metrics and health.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "redis/guard/guard_observer.h"
#include "telemetry/health_board.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::daemon {

// Thread-safety: as GuardObserver. Lifetime: borrows everything.
class GuardTelemetry final : public redis::GuardObserver {
 public:
  GuardTelemetry(telemetry::Logger logger, telemetry::Metrics& metrics,
                 telemetry::HealthBoard& health, const core::Clock& clock);

  // `listener` hears of each quarantine that begins, with its length, and with 0 when it is over.
  void SetQuarantineListener(std::function<void(core::Micros left)> listener) {
    on_quarantine_ = std::move(listener);
  }

  void OnFirstUse(const redis::StoreTrust& trust) override;
  void OnLoss(redis::LossKind kind, const redis::StoreTrust& trust) override;
  void OnNewEpoch(const redis::StoreTrust& trust) override;
  void OnTrustChanged(const redis::StoreTrust& trust) override;
  void OnReassertion(redis::ReassertionEnd end) override;
  void OnGrantRefused() override { grants_refused_.Increment(); }

 private:
  void Report(const redis::StoreTrust& trust);
  void LogGrants(const redis::StoreTrust& trust);

  const telemetry::Logger logger_;
  const telemetry::Counter grants_refused_;
  std::vector<telemetry::Counter> losses_;        // By kind.
  std::vector<telemetry::Counter> reassertions_;  // By end.
  telemetry::HealthBoard& health_;
  const core::Clock& clock_;
  std::function<void(core::Micros left)> on_quarantine_ = [](core::Micros) {};
  int64_t quarantined_epoch_ = 0;  // As the listener has it. 0: no quarantine runs.
  // As the log has it.
  bool grants_ = true;
  bool waits_ = false;
  std::string problem_;
  int64_t told_epoch_ = 0;
  std::string first_use_;  // Of the epoch told last, if that was the first and is quarantined: why.
};

}  // namespace lockkeeper::daemon
