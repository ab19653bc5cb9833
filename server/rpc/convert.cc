// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/errors.h"
#include "core/limits.h"
#include "os/random_bits.h"
#include "rpc/convert_duration.h"

namespace lockkeeper::rpc {
namespace {

using google::protobuf::Duration;

absl::Status ReadDuration(std::string_view field, const Duration& from, core::Millis& to) {
  const absl::StatusOr<core::Millis> millis = ToMillis(field, from);
  if (!millis.ok()) return millis.status();
  to = *millis;
  return absl::OkStatus();
}

absl::Status ReadLeaseId(const std::string& from, core::LeaseId& to) {
  const std::optional<core::LeaseId> id = core::LeaseId::Parse(from);
  if (!id) {
    return core::InvalidField("lease_id",
                              "has to be 32 hex digits or a UUID of 36 characters, has " +
                                  std::to_string(from.size()) + " bytes");
  }
  to = *id;
  return absl::OkStatus();
}

absl::Status ReadAssurance(std::string_view field, int from, core::Assurance& to) {
  if (!v1::Assurance_IsValid(from)) {
    return core::InvalidField(field, "has no value " + std::to_string(from));
  }
  to = static_cast<core::Assurance>(from);
  return absl::OkStatus();
}

// Sorted, so that equal labels make equal records.
core::Labels ReadLabels(const google::protobuf::Map<std::string, std::string>& from) {
  core::Labels labels(from.begin(), from.end());
  std::sort(labels.begin(), labels.end());
  return labels;
}

absl::Status ReadAcquireTimes(const v1::AcquireRequest& from, const core::ConfiguredLimits& limits,
                              core::AcquireRequest& to) {
  to.ttl = std::min(core::limits::kTtlDefault, limits.max_ttl);
  if (from.has_ttl()) {
    if (auto status = ReadDuration("ttl", from.ttl(), to.ttl); !status.ok()) return status;
  }
  if (auto status = ReadDuration("wait_timeout", from.wait_timeout(), to.wait_timeout);
      !status.ok()) {
    return status;
  }
  if (auto status = ReadDuration("lock_delay", from.lock_delay(), to.lock_delay); !status.ok()) {
    return status;
  }
  return ReadDuration("max_hold", from.max_hold(), to.max_hold);
}

void FillContention(const core::Contention& from, v1::Contention& to) {
  to.set_reason(static_cast<v1::ContentionReason>(from.reason));
  to.set_holder_owner(from.holder_owner);
  ToProto(from.remaining_ttl, *to.mutable_remaining_ttl());
  to.set_position(from.position);
  to.set_waiters(from.waiters);
}

}  // namespace

absl::Status ToCore(const v1::AcquireRequest& from, const core::ConfiguredLimits& limits,
                    core::AcquireRequest& to) {
  to.name = from.name();
  to.attempt = from.attempt();
  to.owner = from.owner();
  to.labels = ReadLabels(from.labels());
  to.claim = from.confirm() ? core::ClaimMode::kByClient : core::ClaimMode::kByDaemon;
  if (from.lease_id().empty()) {
    const auto [high, low] = os::Random128Bits();
    to.lease_id = core::LeaseId::FromBits(high, low);
  } else if (auto status = ReadLeaseId(from.lease_id(), to.lease_id); !status.ok()) {
    return status;
  }
  if (auto status = ReadAssurance("min_assurance", from.min_assurance(), to.min_assurance);
      !status.ok()) {
    return status;
  }
  if (auto status = ReadAcquireTimes(from, limits, to); !status.ok()) return status;
  return core::Validate(to, limits);
}

absl::Status ToCore(const v1::ExtendRequest& from, const core::ConfiguredLimits& limits,
                    core::ExtendRequest& to) {
  to.name = from.name();
  to.token = core::FencingToken{from.fencing_token()};
  to.reassertion = from.reassertion();
  if (auto status = ReadLeaseId(from.lease_id(), to.lease_id); !status.ok()) return status;
  if (from.has_ttl()) {
    if (auto status = ReadDuration("ttl", from.ttl(), to.ttl); !status.ok()) return status;
    // The domain reads zero as "none given", which a caller says by leaving the field out.
    if (to.ttl == core::Millis(0)) return core::InvalidField("ttl", "is 0; leave it unset instead");
  }
  return core::Validate(to, limits);
}

absl::Status ToCore(const v1::ReleaseRequest& from, core::ReleaseRequest& to) {
  to.name = from.name();
  if (auto status = ReadLeaseId(from.lease_id(), to.lease_id); !status.ok()) return status;
  return core::Validate(to);
}

absl::Status ToCore(const v1::FenceRequest& from, core::FenceRequest& to) {
  to.name = from.name();
  to.token = core::FencingToken{from.fencing_token()};
  to.liveness =
      from.require_live_lease() ? core::LeaseLiveness::kRequired : core::LeaseLiveness::kAny;
  return core::Validate(to);
}

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

}  // namespace lockkeeper::rpc
