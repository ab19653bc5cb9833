// SPDX-License-Identifier: Apache-2.0
#include "telemetry/lock_observer.h"

#include "telemetry/log_fields.h"

namespace lockkeeper::telemetry {
namespace {

using core::WithdrawalEnd;

constexpr core::Millis kExpiredInterval = std::chrono::seconds(5);
constexpr core::Millis kSlowWaitInterval = std::chrono::seconds(5);

std::string_view MessageOf(WithdrawalEnd end) {
  switch (end) {
    case WithdrawalEnd::kWithdrawn:
      return "A grant was withdrawn because its caller is gone";
    case WithdrawalEnd::kNotGranted:
      return "An acquire was withdrawn; it had no grant";
    case WithdrawalEnd::kKept:
      return "A withdrawal ended: a retry of the caller has the grant";
    case WithdrawalEnd::kLeftToTtl:
      return "A grant whose caller is gone could not be withdrawn: the lock is held until its ttl "
             "ends";
  }
  return "A withdrawal ended";
}

}  // namespace

TelemetryLockObserver::TelemetryLockObserver(Logger logger, Metrics& metrics,
                                             core::Millis slow_wait)
    : logger_(logger),
      metrics_(metrics),
      slow_wait_(slow_wait),
      slow_wait_limit_(kSlowWaitInterval),
      expired_limit_(kExpiredInterval) {}

void TelemetryLockObserver::OnWithdrawalEnded(std::string_view lock_name, WithdrawalEnd end) {
  metrics_.withdrawals(end).Increment();
  if (end == WithdrawalEnd::kLeftToTtl) {
    logger_.WriteLimited(left_to_ttl_limit_, LogLevel::kWarn, "withdrawal.left_to_ttl",
                         MessageOf(end), {field::LockName(lock_name)});
  } else {
    logger_.Debug("withdrawal.ended", MessageOf(end), {field::LockName(lock_name)});
  }
}

void TelemetryLockObserver::OnWaitBegan(const core::AcquireRequest&, int32_t position) {
  metrics_.waiters().Add(1);
  if (position > 0) metrics_.line_positions().Observe(position);
}

// The record of the request has the time that it waited, too, but not everybody keeps those.
void TelemetryLockObserver::OnWaitEnded(std::string_view lock_name, const core::Keeper&,
                                        core::WaitEnd end, core::Micros waited) {
  metrics_.waiters().Add(-1);
  metrics_.waits(end).Observe(waited);
  const bool got_the_lock = end == core::WaitEnd::kGranted || end == core::WaitEnd::kOffered;
  const bool in_vain = end == core::WaitEnd::kTimedOut;
  if ((!got_the_lock && !in_vain) || waited <= slow_wait_) return;
  if (got_the_lock) metrics_.slow_waits().Increment();
  logger_.WriteLimited(
      slow_wait_limit_, LogLevel::kInfo, "lock.slow_wait",
      in_vain ? "Somebody waited long for a lock, in vain: it is held for long, or many want it"
              : "A lock was granted after a long wait: it is held for long, or many want it",
      {field::LockName(lock_name), field::Wait(std::chrono::duration_cast<core::Millis>(waited))});
}

void TelemetryLockObserver::OnReleased(core::Micros held) { metrics_.holds().Observe(held); }

void TelemetryLockObserver::OnExpiredLeaseReplaced(std::string_view lock_name,
                                                   core::FencingToken token) {
  metrics_.expired_leases_replaced().Increment();
  logger_.WriteLimited(expired_limit_, LogLevel::kInfo, "lease.expired",
                       "A lock was granted whose previous lease ended without a release: what it "
                       "guards may be half done",
                       {field::LockName(lock_name), field::FencingToken(token)});
}

}  // namespace lockkeeper::telemetry
