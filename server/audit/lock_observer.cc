// SPDX-License-Identifier: Apache-2.0
#include "audit/lock_observer.h"

namespace lockkeeper::audit {

using telemetry::Outcome;

void AuditedLockObserver::OnWithdrawalEnded(std::string_view lock_name, core::WithdrawalEnd end) {
  TelemetryLockObserver::OnWithdrawalEnded(lock_name, end);
  if (end != core::WithdrawalEnd::kWithdrawn) return;
  trail_.Put({.verb = "withdraw", .outcome = Outcome::kReleased, .lock = lock_name});
}

// The store does not tell the token of the lease that expired.
void AuditedLockObserver::OnExpiredLeaseReplaced(std::string_view lock_name,
                                                 core::FencingToken token) {
  TelemetryLockObserver::OnExpiredLeaseReplaced(lock_name, token);
  trail_.Put({.verb = "expire",
              .outcome = Outcome::kExpired,
              .lock = lock_name,
              .details = {{"next_fencing_token", token.value}}});
}

}  // namespace lockkeeper::audit
