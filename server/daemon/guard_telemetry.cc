// SPDX-License-Identifier: Apache-2.0
#include "daemon/guard_telemetry.h"

#include <chrono>

#include "telemetry/log_fields.h"

namespace lockkeeper::daemon {
namespace {

namespace field = telemetry::field;

core::Millis LeftOf(const redis::StoreTrust& trust) {
  return std::chrono::ceil<core::Millis>(trust.quarantine_left);
}

}  // namespace

void GuardTelemetry::OnFirstUse(const redis::StoreTrust& trust) {
  logger_.Info("guard.first_use",
               "The store had no marker and no locks: it is taken for a new one. If it should have "
               "had locks, it has lost them",
               {field::Shard(shard_), field::Epoch(trust.epoch), field::Quarantine(LeftOf(trust))});
}

void GuardTelemetry::OnLoss(redis::LossKind kind, const redis::StoreTrust& trust) {
  logger_.Error("guard.loss_suspected",
                "The store may have forgotten leases: nothing new is granted until all that it may "
                "have forgotten are over; holders keep their locks by extending them",
                {field::Shard(shard_), field::Loss(redis::NameOf(kind)),
                 field::Detail(redis::ExplanationOf(kind)), field::Epoch(trust.epoch),
                 field::Quarantine(LeftOf(trust))});
}

void GuardTelemetry::OnNewEpoch(const redis::StoreTrust& trust) {
  logger_.Warn("guard.new_epoch",
               "Another daemon has noticed that the store may have forgotten leases",
               {field::Shard(shard_), field::Epoch(trust.epoch), field::Quarantine(LeftOf(trust))});
}

void GuardTelemetry::OnTrustChanged(const redis::StoreTrust& trust) {
  const bool grants = trust.problem.empty() && trust.quarantine_left == core::Micros(0);
  if (!trust.problem.empty()) {
    logger_.Error("guard.setting_refused",
                  "A setting of the store was changed: nothing new is granted until it is right",
                  {field::Shard(shard_), field::Problem(trust.problem)});
  } else if (grants && !grants_) {
    logger_.Info("guard.grants_resumed", "Locks are granted again",
                 {field::Shard(shard_), field::Epoch(trust.epoch)});
  }
  grants_ = grants;
}

}  // namespace lockkeeper::daemon
