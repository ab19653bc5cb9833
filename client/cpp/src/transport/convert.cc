// SPDX-License-Identifier: Apache-2.0
#include "transport/convert.h"

#include <algorithm>
#include <string>

namespace lockkeeper::client {
namespace {

// Longer than any duration in an answer of the service.
constexpr int64_t kSecondsMax = 24 * 60 * 60;

std::chrono::milliseconds Millis(const google::protobuf::Duration& duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(FromProto(duration));
}

LockEvent::Kind KindOf(admin::v1::LockEventKind kind) {
  using Kind = LockEvent::Kind;
  switch (kind) {
    case admin::v1::LOCK_EVENT_KIND_STARTED:
      return Kind::kStarted;
    case admin::v1::LOCK_EVENT_KIND_GAP:
    case admin::v1::LOCK_EVENT_KIND_QUARANTINE_ENDED:
      return Kind::kMayMiss;
    case admin::v1::LOCK_EVENT_KIND_GRANTED:
      return Kind::kGranted;
    case admin::v1::LOCK_EVENT_KIND_OFFERED:
      return Kind::kOffered;
    case admin::v1::LOCK_EVENT_KIND_EXTENDED:
      return Kind::kExtended;
    case admin::v1::LOCK_EVENT_KIND_RELEASED:
    case admin::v1::LOCK_EVENT_KIND_EXPIRED:
    case admin::v1::LOCK_EVENT_KIND_FORCED:
    case admin::v1::LOCK_EVENT_KIND_TAKEN_BACK:
      return Kind::kEnded;
    case admin::v1::LOCK_EVENT_KIND_LOST:
      return Kind::kLost;
    case admin::v1::LOCK_EVENT_KIND_WAITING:
    case admin::v1::LOCK_EVENT_KIND_LEFT:
    case admin::v1::LOCK_EVENT_KIND_QUARANTINE_BEGAN:
      return Kind::kUnrelated;
    default:
      return Kind::kUnknown;
  }
}

LockLook::State StateOf(admin::v1::LockState state) {
  switch (state) {
    case admin::v1::LOCK_STATE_HELD:
      return LockLook::State::kHeld;
    case admin::v1::LOCK_STATE_OFFERED:
      return LockLook::State::kOffered;
    case admin::v1::LOCK_STATE_ENDED:
      return LockLook::State::kEnded;
    default:
      return LockLook::State::kUnproven;
  }
}

template <typename Message>
Leader LeaseOf(const Message& message) {
  return {.fencing_token = message.fencing_token(),
          .owner = message.owner(),
          .principal = message.principal()};
}

absl::Status OtherKind() {
  return absl::InternalError("the server's answer is of another kind than the request");
}

}  // namespace

google::protobuf::Duration ToProto(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  google::protobuf::Duration proto;
  proto.set_seconds(seconds.count());
  proto.set_nanos(static_cast<int32_t>((duration - seconds).count()));
  return proto;
}

Duration FromProto(const google::protobuf::Duration& duration) {
  const auto seconds = std::clamp<int64_t>(duration.seconds(), 0, kSecondsMax);
  const auto nanos = std::clamp<int64_t>(duration.nanos(), 0, 999'999'999);
  return std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos);
}

Granted FromProto(const v1::Lease& lease) {
  Granted granted;
  granted.remaining_ttl = FromProto(lease.remaining_ttl());
  granted.offered = lease.offered();
  granted.grant = {
      .name = lease.name(),
      .lease_id = lease.lease_id(),
      .fencing_token = lease.fencing_token(),
      .ttl = Millis(lease.ttl()),
      .remaining_ttl = Millis(lease.remaining_ttl()),
      .waited = Millis(lease.waited()),
      .previous_lease_expired = lease.previous_lease_expired(),
      .assurance = static_cast<Assurance>(std::clamp(static_cast<int>(lease.assurance()), 0, 4)),
      .reassertion = lease.reassertion()};
  return granted;
}

Contention FromProto(const v1::Contention& contention) {
  Contention result;
  switch (contention.reason()) {
    case v1::CONTENTION_REASON_WAIT_TIMED_OUT:
      result.reason = ContentionReason::kWaitTimedOut;
      break;
    case v1::CONTENTION_REASON_CLOSED:
      result.reason = ContentionReason::kClosed;
      break;
    case v1::CONTENTION_REASON_CANCELLED:
      result.reason = ContentionReason::kCancelled;
      break;
    default:
      result.reason = ContentionReason::kHeld;
  }
  result.holder_owner = contention.holder_owner();
  result.remaining_ttl = Millis(contention.remaining_ttl());
  result.position = contention.position();
  result.waiters = contention.waiters();
  return result;
}

ReleaseOutcome FromProto(const v1::ReleaseResponse& response) {
  if (response.released()) return ReleaseOutcome::kReleased;
  switch (response.reason()) {
    case v1::NOT_RELEASED_REASON_EXPIRED:
      return ReleaseOutcome::kExpired;
    case v1::NOT_RELEASED_REASON_WAITER_REMOVED:
      return ReleaseOutcome::kWaiterRemoved;
    default:
      return ReleaseOutcome::kNotHolder;
  }
}

FenceResult FromProto(const v1::FenceResponse& response) {
  FenceResult result;
  const int verdict = response.verdict();
  if (verdict >= v1::VERDICT_ADMITTED && verdict <= v1::VERDICT_UNKNOWN_TOKEN) {
    result.verdict = static_cast<Verdict>(verdict);
  }
  result.newest_fencing_token = response.newest_fencing_token();
  return result;
}

absl::StatusOr<AcquireAnswer> FromProto(const v1::AcquireResponse& response) {
  switch (response.outcome_case()) {
    case v1::AcquireResponse::kLease:
      return AcquireAnswer(FromProto(response.lease()));
    case v1::AcquireResponse::kContention:
      return AcquireAnswer(FromProto(response.contention()));
    case v1::AcquireResponse::OUTCOME_NOT_SET:
      break;
  }
  return absl::InternalError("the server answered neither a lease nor a contention");
}

absl::StatusOr<AcquireAnswer> AcquiredFrom(const OperationAnswer& answer) {
  if (!answer.ok()) return answer.status();
  if (!answer->has_acquire()) return OtherKind();
  return FromProto(answer->acquire());
}

absl::StatusOr<Granted> ExtendedFrom(const OperationAnswer& answer) {
  if (!answer.ok()) return answer.status();
  if (!answer->has_extend()) return OtherKind();
  return FromProto(answer->extend().lease());
}

absl::StatusOr<ReleaseOutcome> ReleasedFrom(const OperationAnswer& answer) {
  if (!answer.ok()) return answer.status();
  if (!answer->has_release()) return OtherKind();
  return FromProto(answer->release());
}

absl::StatusOr<FenceResult> FencedFrom(const OperationAnswer& answer) {
  if (!answer.ok()) return answer.status();
  if (!answer->has_fence()) return OtherKind();
  return FromProto(answer->fence());
}

LockEvent FromProto(const admin::v1::LockEvent& event) {
  return {.kind = KindOf(event.kind()), .lease = LeaseOf(event)};
}

LockLook FromProto(const admin::v1::GetLockResponse& response) {
  LockLook look;
  if (response.has_lock()) {
    look = {.state = StateOf(response.lock().state()), .lease = LeaseOf(response.lock())};
  }
  if (response.has_quarantine_left()) look.quarantine_left = FromProto(response.quarantine_left());
  return look;
}

v1::AcquireRequest ToProto(std::string_view name, const AcquireOptions& options,
                           std::string_view owner) {
  v1::AcquireRequest request;
  request.set_name(std::string(name));
  if (options.ttl) *request.mutable_ttl() = ToProto(*options.ttl);
  request.set_owner(std::string(owner));
  request.mutable_labels()->insert(options.labels.begin(), options.labels.end());
  if (options.lock_delay.count() != 0) *request.mutable_lock_delay() = ToProto(options.lock_delay);
  if (options.max_hold.count() != 0) *request.mutable_max_hold() = ToProto(options.max_hold);
  if (options.hold_at_least.count() != 0) {
    *request.mutable_hold_at_least() = ToProto(options.hold_at_least);
  }
  request.set_confirm(options.wait_timeout.count() > 0);
  request.set_min_assurance(static_cast<v1::Assurance>(options.min_assurance));
  return request;
}

}  // namespace lockkeeper::client
