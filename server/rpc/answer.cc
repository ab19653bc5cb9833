// SPDX-License-Identifier: Apache-2.0
#include "rpc/answer.h"

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/errors.h"
#include "rpc/convert_duration.h"
#include "rpc/status_convert.h"

namespace lockkeeper::rpc {
namespace {

using telemetry::Outcome;

void FillContention(const core::Contention& from, v1::Contention& to) {
  to.set_reason(static_cast<v1::ContentionReason>(from.reason));
  to.set_holder_owner(from.holder_owner);
  ToProto(from.remaining_ttl, *to.mutable_remaining_ttl());
  to.set_position(from.position);
  to.set_waiters(from.waiters);
}

void FillLock(const core::LockInfo& from, admin::v1::Lock& to) {
  to.set_name(from.name);
  to.set_state(static_cast<admin::v1::LockState>(from.state));
  to.set_fencing_token(from.token.value);
  to.set_owner(from.owner);
  to.set_principal(from.principal);
  to.mutable_labels()->insert(from.labels.begin(), from.labels.end());
  ToProto(from.ttl, *to.mutable_ttl());
  ToProto(from.lock_delay, *to.mutable_lock_delay());
  ToProto(from.max_hold, *to.mutable_max_hold());
  ToProto(from.hold_at_least, *to.mutable_hold_at_least());
  ToProto(from.remaining_ttl, *to.mutable_remaining_ttl());
  ToProto(from.closed_for, *to.mutable_closed_for());
  if (from.acquired.micros > 0) ToProto(from.acquired, *to.mutable_acquire_time());
  if (from.lease_end.micros > 0) ToProto(from.lease_end, *to.mutable_expire_time());
  to.set_waiters(from.waiters);
  to.set_last_end(static_cast<admin::v1::LeaseEnd>(from.last_end));
}

}  // namespace

void ToProto(const core::Lease& from, v1::Lease& to) {
  to.set_name(from.name);
  const std::string_view digits = from.lease_id.digits();
  to.set_lease_id(digits.data(), digits.size());
  to.set_fencing_token(from.token.value);
  ToProto(from.ttl, *to.mutable_ttl());
  ToProto(from.remaining_ttl, *to.mutable_remaining_ttl());
  // Not known of an offer that came as a message.
  if (from.lease_end.micros > 0) ToProto(from.lease_end, *to.mutable_expire_time());
  ToProto(from.waited, *to.mutable_waited());
  to.set_previous_lease_expired(from.previous_lease_expired);
  to.set_offered(from.offered);
  to.set_assurance(ToProto(from.assurance));
  to.set_reassertion(from.reassertion);
}

void ToProto(const core::AcquireAnswer& from, v1::AcquireResponse& to) {
  if (const auto* lease = std::get_if<core::Lease>(&from)) {
    ToProto(*lease, *to.mutable_lease());
  } else {
    FillContention(std::get<core::Contention>(from), *to.mutable_contention());
  }
}

void ToProto(const core::Lease& from, v1::ExtendResponse& to) {
  ToProto(from, *to.mutable_lease());
}

void ToProto(const core::ReleaseAnswer& from, v1::ReleaseResponse& to) {
  to.set_released(from.released());
  to.set_reason(static_cast<v1::NotReleasedReason>(from.not_released));
}

void ToProto(const core::FenceAnswer& from, v1::FenceResponse& to) {
  to.set_verdict(static_cast<v1::Verdict>(from.verdict));
  to.set_newest_fencing_token(from.newest.value);
}

v1::Assurance ToProto(core::Assurance from) { return static_cast<v1::Assurance>(from); }

void ToProto(const std::optional<core::LockInfo>& from, admin::v1::GetLockResponse& to) {
  if (!from) return;
  FillLock(*from, *to.mutable_lock());
  for (const core::FormerLease& former : from->history) {
    admin::v1::FormerLease& shown = *to.add_history();
    shown.set_fencing_token(former.token.value);
    shown.set_owner(former.owner);
    shown.set_end(static_cast<admin::v1::LeaseEnd>(former.end));
    ToProto(former.ended, *shown.mutable_end_time());
  }
}

void ToProto(const core::LockPage& from, admin::v1::ListLocksResponse& to) {
  to.mutable_locks()->Reserve(static_cast<int>(from.locks.size()));
  for (const core::LockInfo& lock : from.locks) FillLock(lock, *to.add_locks());
  to.set_next_page_token(from.next_page_token);
  to.set_unreadable(from.unreadable);
}

void ToProto(const telemetry::ContendedLockList& from, admin::v1::ListContendedLocksResponse& to) {
  for (const telemetry::ContendedLock& lock : from.locks) {
    admin::v1::ContendedLock& shown = *to.add_locks();
    shown.set_name(lock.name);
    shown.set_waits(lock.waits);
    ToProto(lock.waited, *shown.mutable_waited());
  }
  ToProto(from.window, *to.mutable_window());
  to.set_approximate(!from.is_exact);
}

void ToProto(const core::ForceReleaseAnswer& from, admin::v1::ForceReleaseResponse& to) {
  to.set_released(from.released);
  to.set_opened(from.opened);
  to.set_fencing_token(from.token.value);
  ToProto(from.closed_for, *to.mutable_closed_for());
  to.set_holder_owner(from.holder_owner);
}

void ToProto(const core::EndQuarantineAnswer& from, admin::v1::EndQuarantineResponse& to) {
  to.set_ended(from.ended);
  to.set_epoch(from.epoch);
  ToProto(from.left, *to.mutable_quarantine_left());
}

void ToProto(const absl::Status& from, v1::OperationError& to) {
  const core::ErrorReason reason =
      core::ReasonOf(from).value_or(core::ErrorReason::kInvariantViolated);
  to.set_code(static_cast<int>(core::RowOf(reason).code));
  to.set_reason(static_cast<v1::ErrorReason>(reason));
  to.set_message(std::string(from.message()));
  if (const auto field = core::FieldOf(from)) (*to.mutable_metadata())["field"] = *field;
  if (const auto delay = RetryDelayFor(from)) {
    ToProto(core::Micros(*delay), *to.mutable_retry_delay());
  }
}

void ToProto(const absl::StatusOr<core::SessionAnswer>& from, v1::SessionResult& to) {
  if (!from.ok()) return ToProto(from.status(), *to.mutable_error());
  std::visit(
      [&to](const auto& answer) {
        using Answer = std::decay_t<decltype(answer)>;
        if constexpr (std::is_same_v<Answer, core::AcquireAnswer>) {
          ToProto(answer, *to.mutable_acquire());
        } else if constexpr (std::is_same_v<Answer, core::Lease>) {
          ToProto(answer, *to.mutable_extend());
        } else if constexpr (std::is_same_v<Answer, core::ReleaseAnswer>) {
          ToProto(answer, *to.mutable_release());
        } else {
          ToProto(answer, *to.mutable_fence());
        }
      },
      *from);
}

v1::SessionHeartbeatResult ToProto(core::HeartbeatAnswer from) {
  v1::SessionHeartbeatResult to;
  for (core::NotExtended& failed : from.not_extended) {
    v1::SessionLeaseLost& lost = *to.add_not_extended();
    lost.set_name(std::move(failed.name));
    lost.set_lease_id(std::string(failed.lease_id.digits()));
    lost.set_reason(static_cast<v1::ErrorReason>(failed.reason));
  }
  auto& proofs = *to.mutable_reassertions();
  for (auto& [id, proof] : from.proofs) proofs[std::string(id.digits())] = std::move(proof);
  return to;
}

void ToProto(const core::LockEvent& from, core::WallTime heard, admin::v1::LockEvent& to) {
  to.set_kind(static_cast<admin::v1::LockEventKind>(from.kind));
  to.set_name(from.name);
  to.set_fencing_token(from.token.value);
  to.set_owner(from.owner);
  to.set_principal(from.principal);
  ToProto(heard, *to.mutable_time());
  if (from.remaining > core::Micros(0)) ToProto(from.remaining, *to.mutable_remaining());
  if (from.waited > core::Micros(0)) ToProto(from.waited, *to.mutable_waited());
  to.set_position(from.position);
  to.set_previous_lease_expired(from.previous_lease_expired);
  to.set_gap_reason(static_cast<admin::v1::GapReason>(from.gap));
  to.set_missed(from.missed);
}

Outcome OutcomeOf(const core::AcquireAnswer& answer) {
  return std::holds_alternative<core::Lease>(answer) ? Outcome::kGranted : Outcome::kContention;
}

Outcome OutcomeOf(const core::Lease&) { return Outcome::kExtended; }

Outcome OutcomeOf(const core::ReleaseAnswer& answer) {
  return answer.released() ? Outcome::kReleased : Outcome::kNotReleased;
}

Outcome OutcomeOf(const core::FenceAnswer& answer) {
  switch (answer.verdict) {
    case core::Verdict::kAdmitted:
      return Outcome::kAdmitted;
    case core::Verdict::kStale:
      return Outcome::kStale;
    case core::Verdict::kExpired:
      return Outcome::kExpired;
    case core::Verdict::kUnknownToken:
      return Outcome::kUnknownToken;
  }
  return Outcome::kError;
}

Outcome OutcomeOf(const std::optional<core::LockInfo>& answer) {
  return answer ? Outcome::kFound : Outcome::kNotFound;
}

Outcome OutcomeOf(const core::LockPage&) { return Outcome::kListed; }

Outcome OutcomeOf(const telemetry::ContendedLockList&) { return Outcome::kListed; }

Outcome OutcomeOf(const core::ForceReleaseAnswer& answer) {
  return answer.released ? Outcome::kForceReleased : Outcome::kNotReleased;
}

Outcome OutcomeOf(const core::EndQuarantineAnswer& answer) {
  return answer.ended ? Outcome::kQuarantineEnded : Outcome::kNoQuarantine;
}

Outcome OutcomeOf(const absl::Status& error) {
  return core::ReasonOf(error) == core::ErrorReason::kLeaseLost ? Outcome::kLeaseLost
                                                                : Outcome::kError;
}

Outcome OutcomeOf(const absl::StatusOr<core::SessionAnswer>& answer) {
  if (!answer.ok()) return OutcomeOf(answer.status());
  return std::visit([](const auto& known) { return OutcomeOf(known); }, *answer);
}

const core::Lease* LeaseIn(const core::AcquireAnswer& answer) {
  return std::get_if<core::Lease>(&answer);
}

const core::Lease* LeaseIn(const absl::StatusOr<core::SessionAnswer>& answer) {
  if (!answer.ok()) return nullptr;
  if (const auto* acquired = std::get_if<core::AcquireAnswer>(&*answer)) return LeaseIn(*acquired);
  return std::get_if<core::Lease>(&*answer);
}

}  // namespace lockkeeper::rpc
