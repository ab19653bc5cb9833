// SPDX-License-Identifier: Apache-2.0
#include "daemon/guard_telemetry.h"

#include <chrono>
#include <utility>

#include "absl/time/time.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::daemon {
namespace {

namespace field = telemetry::field;
using redis::LossKind;
using redis::ReassertionEnd;
using redis::StoreTrust;

constexpr size_t kReassertionEnds = static_cast<size_t>(ReassertionEnd::kTooLate) + 1;

std::string_view NameOf(ReassertionEnd end) {
  switch (end) {
    case ReassertionEnd::kTakenBack:
      return "taken_back";
    case ReassertionEnd::kNotProved:
      return "not_proved";
    case ReassertionEnd::kTooLate:
      return "too_late";
  }
  return "unknown";
}

core::Millis LeftOf(const StoreTrust& trust) {
  return std::chrono::ceil<core::Millis>(trust.quarantine_left);
}

// "2026-01-02T03:04:05.678Z"; empty without a quarantine.
std::string EndOf(const StoreTrust& trust) {
  if (trust.quarantine_end.micros == 0) return "";
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ",
                          absl::FromUnixMicros(trust.quarantine_end.micros), absl::UTCTimeZone());
}

bool Grants(const StoreTrust& trust) {
  return trust.problem.empty() && trust.waiting.empty() && trust.joining.empty() &&
         trust.quarantine_left == core::Micros(0);
}

}  // namespace

GuardTelemetry::GuardTelemetry(telemetry::Logger logger, telemetry::Metrics& metrics,
                               telemetry::HealthBoard& health, const core::Clock& clock)
    : logger_(logger), grants_refused_(metrics.grants_refused()), health_(health), clock_(clock) {
  for (size_t i = 0; i < redis::kLossKinds; ++i) {
    losses_.push_back(metrics.StoreLosses(redis::NameOf(static_cast<LossKind>(i))));
  }
  for (size_t i = 0; i < kReassertionEnds; ++i) {
    reassertions_.push_back(metrics.Reassertions(NameOf(static_cast<ReassertionEnd>(i))));
  }
}

void GuardTelemetry::OnFirstUse(const StoreTrust& trust) {
  told_epoch_ = trust.epoch;
  if (!Grants(trust)) first_use_ = "the store is new, and store.first_use is `quarantine`";
  Report(trust);
  logger_.Info("guard.first_use",
               "The store had no marker and no locks: it counts as new. If there should have been "
               "locks, the store has lost them",
               {field::Epoch(trust.epoch), field::Quarantine(LeftOf(trust))});
}

void GuardTelemetry::OnLoss(LossKind kind, const StoreTrust& trust) {
  told_epoch_ = trust.epoch;
  first_use_.clear();
  Report(trust);
  losses_.at(static_cast<size_t>(kind)).Increment();
  const bool quarantined = trust.quarantine_left > core::Micros(0);
  logger_.Error("guard.loss_suspected",
                quarantined
                    ? "The store may have forgotten leases: nothing new is granted until all that "
                      "it may have forgotten are over; holders keep their locks by extending them"
                    : "The store may have forgotten leases, and store.quarantine is off: locks are "
                      "granted all the same, also those that somebody still holds",
                {field::Loss(redis::NameOf(kind)), field::Detail(redis::ExplanationOf(kind)),
                 field::Epoch(trust.epoch), field::Quarantine(LeftOf(trust)),
                 field::QuarantineEnd(EndOf(trust))});
}

void GuardTelemetry::OnNewEpoch(const StoreTrust& trust) {
  told_epoch_ = trust.epoch;
  first_use_.clear();
  Report(trust);
  logger_.Warn("guard.new_epoch",
               "Another daemon or an earlier run has noticed that the store may have "
               "forgotten leases: its guard.loss_suspected says what",
               {field::Epoch(trust.epoch), field::Quarantine(LeftOf(trust)),
                field::QuarantineEnd(EndOf(trust))});
}

void GuardTelemetry::OnTrustChanged(const StoreTrust& trust) {
  Report(trust);
  LogGrants(trust);
}

// Updates health and metrics before anything is logged, so that they agree with the log.
void GuardTelemetry::Report(const StoreTrust& trust) {
  health_.ReportStore([&](telemetry::StoreStatus& status) {
    status.looked = true;
    status.grants = Grants(trust);
    status.id = trust.store_id;
    status.run_id = trust.run_id;
    status.epoch = trust.epoch;
    status.quarantine_end = trust.quarantine_end;
    status.quarantine_over = clock_.Now() + trust.quarantine_left;
    const std::string& holds_up = trust.waiting.empty() ? trust.joining : trust.waiting;
    status.setting_problem = trust.problem.empty() ? holds_up : trust.problem;
    status.loss = trust.loss ? redis::NameOf(*trust.loss) : "";
    status.loss_detail = trust.loss ? redis::ExplanationOf(*trust.loss) : first_use_;
    status.noticed = trust.noticed;
  });
  const int64_t quarantined = trust.quarantine_left > core::Micros(0) ? trust.epoch : 0;
  if (std::exchange(quarantined_epoch_, quarantined) != quarantined)
    on_quarantine_(trust.quarantine_left);
}

void GuardTelemetry::LogGrants(const StoreTrust& trust) {
  const bool waited = std::exchange(waits_, !trust.waiting.empty());
  if (waits_ && !waited) {
    logger_.Info("guard.first_use_waits",
                 "The store has no marker: other daemons that may know it are given time",
                 {field::Problem(trust.waiting)});
  }
  if (waits_ || !trust.joining.empty()) return;
  const bool grants = Grants(trust);
  if (!trust.problem.empty() && trust.problem != problem_) {
    logger_.Error(
        "guard.setting_refused",
        "The store endangers locks as it is: nothing new is granted until that is corrected",
        {field::Problem(trust.problem)});
  } else if (grants && !grants_) {
    logger_.Info("guard.grants_resumed", "Locks are granted again", {field::Epoch(trust.epoch)});
  } else if (grants_ && trust.quarantine_left > core::Micros(0) && trust.epoch > told_epoch_) {
    // The epoch began before this daemon started.
    OnNewEpoch(trust);
  }
  grants_ = grants;
  problem_ = trust.problem;
}

void GuardTelemetry::OnReassertion(ReassertionEnd end) {
  reassertions_.at(static_cast<size_t>(end)).Increment();
}

}  // namespace lockkeeper::daemon
